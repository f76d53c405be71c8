-- Campaigns that change. Voids, corrections, forgotten customers and added arms are appended to the log, as settings
-- are; who: the token or person behind a change. An outcome that is corrected is replaced, and the correction keeps
-- what it was before.
CREATE TABLE elsv_void (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  who TEXT,
  PRIMARY KEY (campaign, number),
  FOREIGN KEY (campaign, number) REFERENCES elsv_decision (campaign, number)
) WITHOUT ROWID;
CREATE TABLE elsv_correction (
  campaign INTEGER NOT NULL,
  event INTEGER NOT NULL,
  number INTEGER NOT NULL,
  at REAL NOT NULL,
  who TEXT,
  before INTEGER NOT NULL CHECK (before IN (0, 1)),
  success INTEGER NOT NULL CHECK (success IN (0, 1)),
  PRIMARY KEY (campaign, event),
  FOREIGN KEY (campaign, number) REFERENCES elsv_reward (campaign, number)
) WITHOUT ROWID;
-- A customer whose name was removed from so many decisions.
CREATE TABLE elsv_forgotten (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  who TEXT,
  decisions INTEGER NOT NULL,
  PRIMARY KEY (campaign, event)
) WITHOUT ROWID;
-- An arm that was added, and the problem as it was before.
CREATE TABLE elsv_arm (
  campaign INTEGER NOT NULL REFERENCES elsv_campaign (id),
  arm INTEGER NOT NULL,
  event INTEGER NOT NULL,
  at REAL NOT NULL,
  who TEXT,
  problem TEXT NOT NULL,
  PRIMARY KEY (campaign, arm)
) WITHOUT ROWID;
ALTER TABLE elsv_setting ADD COLUMN who TEXT;
-- The place that a decision takes among the customers planned for; NULL: none, it was made while paused.
ALTER TABLE elsv_decision ADD COLUMN place INTEGER;
UPDATE elsv_decision SET place = number;
ALTER TABLE elsv_tally ADD COLUMN voided INTEGER NOT NULL DEFAULT 0;
ALTER TABLE elsv_tally ADD COLUMN rested INTEGER NOT NULL DEFAULT 0;
-- Whether the request made the decision, or was answered with one that had been made before.
ALTER TABLE elsv_request ADD COLUMN made INTEGER NOT NULL DEFAULT 0;
CREATE INDEX elsv_request_number ON elsv_request (campaign, number);
-- Customers are looked up among all decisions, open or not.
DROP INDEX elsv_open_customer;
ALTER TABLE elsv_open DROP COLUMN customer;
CREATE INDEX elsv_decision_customer ON elsv_decision (campaign, customer) WHERE customer IS NOT NULL;
