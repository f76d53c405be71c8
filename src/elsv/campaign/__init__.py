"""Live campaigns: decisions with outcomes that come late, kept in a log that several processes share.

Read `campaign` first, then `batches` (requests, one transaction), `choosing` (which arm, with which
probability) and `log` (what is written, when). `opening` begins, lists and changes campaigns, `audit` replays
the log. `history` reads it for a `status`, whose `figures` are made in `standing`; `views` shows that on
pages. `exchange`, `backup` and `copying` are about files and stores.
"""

from elsv.campaign.audit import Audit
from elsv.campaign.batches import KeyReusedError, RefusedReportError, UnknownDecisionError
from elsv.campaign.campaign import Campaign
from elsv.campaign.figures import ArmStatus, GainSoFar
from elsv.campaign.log import UnknownCampaignError
from elsv.campaign.opening import BegunOtherwiseError, Listed, OtherVersionError
from elsv.campaign.records import Decision, RewardReceipt
from elsv.campaign.settings import Settings
from elsv.campaign.status import Status
from elsv.stores.base import StoreError

__all__ = [
    "ArmStatus",
    "Audit",
    "BegunOtherwiseError",
    "Campaign",
    "Decision",
    "GainSoFar",
    "KeyReusedError",
    "Listed",
    "OtherVersionError",
    "RefusedReportError",
    "RewardReceipt",
    "Settings",
    "Status",
    "StoreError",
    "UnknownCampaignError",
    "UnknownDecisionError",
]
