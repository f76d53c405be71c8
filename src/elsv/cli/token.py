"""``elsv token``: who may ask the service; tokens are shown once and kept as digests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, print_json
from elsv.errors import InvalidInputError

token = typer.Typer(
    name="token",
    help="Tokens of the service: make, list and revoke them; a running server notices.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who or what has the token, such as checkout.")]
File = Annotated[Path, typer.Option("--tokens", metavar="FILE", help="File of tokens, as given to serve.")]
_DEFAULT = Path("tokens.json")


@token.command()
def new(
    name: Name,
    role: Annotated[
        str, typer.Option(help="read, write (decide and reward too) or admin (create and change too).")
    ],
    tokens: File = _DEFAULT,
    as_json: Json = False,
) -> None:
    """Make a token and print it; it is not shown again."""
    from elsv.service.tokens import TokenFile

    made = TokenFile(tokens, must_exist=False).new(name, role)
    if as_json:
        print_json({"name": name, "role": role, "token": made, "tokens": str(tokens)})
    else:
        print(made)
        print(f"keep it: {tokens} has only its digest, and it is not shown again", file=sys.stderr)


@token.command()
def link(
    name: Name,
    role: Annotated[
        str, typer.Option(help="reader (look) or editor (begin and change campaigns too).")
    ] = "reader",
    days: Annotated[float, typer.Option(help="How long the link logs in.")] = 30.0,
    address: Annotated[
        str, typer.Option(help="Where people reach the service, such as https://elsv.example.org.")
    ] = "http://127.0.0.1:8763",
    campaign: Annotated[str | None, typer.Option(help="Lead to this campaign; default: to all.")] = None,
    tokens: File = _DEFAULT,
    as_json: Json = False,
) -> None:
    """Make a link that logs a colleague in, so that nobody types tokens on a telephone."""
    from urllib.parse import quote, urlsplit

    from elsv.service.tokens import TokenFile

    known = {"reader": "read", "read": "read", "editor": "admin", "admin": "admin"}
    if role not in known:
        raise InvalidInputError(f"the role of a link must be reader or editor, got {role!r}")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidInputError(f"address must begin with http:// or https://, got {address!r}")
    made = TokenFile(tokens, must_exist=False).new(name, known[role], days)
    page = quote(campaign.replace("%", "%25").replace("/", "%2F"), safe="") if campaign else ""
    onward = f"?next={quote(f'/ui/campaigns/{page}', safe='')}" if page else ""
    url = f"{address.rstrip('/')}/ui/link/{made}{onward}"
    if as_json:
        print_json({"name": name, "role": known[role], "days": days, "link": url, "tokens": str(tokens)})
    else:
        print(url)
        print(
            f"whoever has it is logged in as {role} for {days:g} days; it is not shown again, and "
            f"`elsv token revoke {name}` ends it",
            file=sys.stderr,
        )


@token.command(name="list")
def list_(tokens: File = _DEFAULT, as_json: Json = False) -> None:
    """List the tokens and links with their roles and dates, revoked ones too."""
    from elsv.service.tokens import TokenFile

    found = TokenFile(tokens).tokens()
    if as_json:
        print_json({"tokens": [one.to_dict() for one in found]})
        return
    for one in found:
        ended = "" if one.expires is None else f"\tlink until {one.expires}"
        ended = ended if one.revoked is None else f"\trevoked {one.revoked}"
        print(f"{one.name}\t{one.role}\t{one.created}{ended}")


@token.command()
def revoke(name: Name, tokens: File = _DEFAULT, as_json: Json = False) -> None:
    """End a token at once."""
    from elsv.service.tokens import TokenFile

    ended = TokenFile(tokens).revoke(name)
    if as_json:
        print_json(ended.to_dict())
    else:
        print(f"revoked {ended.name}, which could {ended.role}")
