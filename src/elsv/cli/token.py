"""``elsv token``: who may ask the service; tokens are shown once and kept as digests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, print_json

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


@token.command(name="list")
def list_(tokens: File = _DEFAULT, as_json: Json = False) -> None:
    """List the tokens with their roles and dates, revoked ones too."""
    from elsv.service.tokens import TokenFile

    found = TokenFile(tokens).tokens()
    if as_json:
        print_json({"tokens": [one.to_dict() for one in found]})
        return
    for one in found:
        ended = "" if one.revoked is None else f"\trevoked {one.revoked}"
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
