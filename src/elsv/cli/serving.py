"""``elsv serve`` and what belongs to a server: ``elsv token``, ``elsv backup`` and ``elsv copy``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlsplit

from typer import Argument, Option, Typer

from elsv._base.progress import progress_bar
from elsv.cli.console import in_json, note, print_json, show
from elsv.cli.options import HELP, STORE
from elsv.errors import InvalidInputError, MissingExtraError
from elsv.service.tokens import TokenFile, page_of

token = Typer(
    name="token",
    help="Tokens of the service: make, list and revoke them; a running server notices.",
    no_args_is_help=True,
    context_settings=HELP,
)
Name = Annotated[str, Argument(metavar="NAME", help="Who or what has the token, such as checkout.")]
File = Annotated[Path, Option("--tokens", metavar="FILE", help="File of tokens, as given to serve.")]
_DEFAULT = Path("tokens.json")


def serve(
    db: Annotated[str, Option(metavar="STORE", help=STORE)] = "shop.db",
    host: Annotated[str, Option(help="Address to listen on; beyond this machine with --tokens.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Option(help="Port to listen on; 0: one that is free.")] = 8763,
    tokens: Annotated[
        Path | None, Option(metavar="FILE", help="Tokens that `elsv token` made; without: none needed.")
    ] = None,
    workers: Annotated[int, Option("--workers", help="Processes; several on PostgreSQL only.")] = 1,
    log_json: Annotated[bool, Option("--log-json", help="Print one JSON line per request.")] = False,
) -> None:
    """Serve campaigns over HTTP: decisions, outcomes, pages."""
    try:
        from elsv.service.run import serve as run
        from elsv.service.settings import ServiceSettings
    except ModuleNotFoundError as error:
        raise MissingExtraError("serving", "service") from error
    run(ServiceSettings(db, host, port, tokens, workers, log_json))


def backup(
    store: Annotated[str, Argument(metavar="SHOP.db", help="SQLite file; it may be in use.")],
    to: Annotated[Path, Argument(metavar="COPY.db", help="Where the copy goes.")],
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Copy an SQLite file as it is at one moment, while a server uses it; the copy is checked and audited."""
    from elsv.campaign.backup import backup as make

    with progress_bar("copying") as report:
        made = make(store, to, overwrite=force, progress=report)
    show(made)


def copy(
    store: Annotated[str, Argument(metavar="FROM", help=STORE)],
    to: Annotated[str, Argument(metavar="TO", help=STORE)],
    campaign: Annotated[
        list[str] | None, Option(metavar="NAME", help="Copy this one; may be repeated. Default: all.")
    ] = None,
) -> None:
    """Copy campaigns to another file or database with the whole logs, all or none; first stop the server."""
    from elsv.campaign.copying import copy_campaigns

    with progress_bar("copying") as report:
        made = copy_campaigns(store, to, campaign or None, progress=report)
    show(made)
    for one in made.campaigns:
        if one.went_on:
            note(
                f"elsv: {one.name} went on meanwhile: {one.went_on:,} events are not in the copy; to move, "
                "stop what writes it and copy once more"
            )


@token.command()
def new(
    name: Name,
    role: Annotated[
        str, Option(help="read, write (decide and reward too) or admin (create and change too).")
    ],
    tokens: File = _DEFAULT,
) -> None:
    """Make a token and print it; it is not shown again."""
    made = TokenFile(tokens, must_exist=False).new(name, role)
    show(made, {"name": name, "role": role, "token": made, "tokens": str(tokens)})
    if not in_json.get():
        note(f"keep it: {tokens} has only its digest, and it is not shown again")


@token.command()
def link(
    name: Name,
    role: Annotated[str, Option(help="reader (look) or editor (begin and change campaigns too).")] = "reader",
    days: Annotated[float, Option(help="How long the link logs in.")] = 30.0,
    address: Annotated[
        str, Option(help="Where people reach the service, such as https://elsv.example.org.")
    ] = "http://127.0.0.1:8763",
    campaign: Annotated[str | None, Option(help="Lead to this campaign; default: to all.")] = None,
    tokens: File = _DEFAULT,
) -> None:
    """Make a link that logs a colleague in, so that nobody types tokens on a telephone."""
    known = {"reader": "read", "read": "read", "editor": "admin", "admin": "admin"}
    if role not in known:
        raise InvalidInputError(f"the role of a link must be reader or editor, got {role!r}")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidInputError(f"address must begin with http:// or https://, got {address!r}")
    made = TokenFile(tokens, must_exist=False).new(name, known[role], days)
    onward = f"?next={quote(page_of(campaign), safe='')}" if campaign else ""
    url = f"{address.rstrip('/')}/ui/link/{made}{onward}"
    values = {"name": name, "role": known[role], "days": days, "link": url, "tokens": str(tokens)}
    show(url, values)
    if not in_json.get():
        note(
            f"whoever has it is logged in as {role} for {days:g} days; it is not shown again, and "
            f"`elsv token revoke {name}` ends it"
        )


@token.command(name="list")
def list_(tokens: File = _DEFAULT) -> None:
    """List the tokens and links with their roles and dates, revoked ones too."""
    found = TokenFile(tokens).tokens()
    if in_json.get():
        print_json({"tokens": [one.to_dict() for one in found]})
        return
    for one in found:
        ended = "" if one.expires is None else f"\tlink until {one.expires}"
        ended = ended if one.revoked is None else f"\trevoked {one.revoked}"
        print(f"{one.name}\t{one.role}\t{one.created}{ended}")


@token.command()
def revoke(name: Name, tokens: File = _DEFAULT) -> None:
    """End a token at once."""
    ended = TokenFile(tokens).revoke(name)
    show(f"revoked {ended.name}, which could {ended.role}", ended.to_dict())
