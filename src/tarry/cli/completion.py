"""Print a script with which your shell completes tarry's commands and options.

tarry completion bash > ~/.local/share/bash-completion/completions/tarry
tarry completion zsh > "${fpath[1]}/_tarry"
tarry completion fish > ~/.config/fish/completions/tarry.fish
"""

import argparse
from collections.abc import Iterator
from shlex import quote

from tarry.cli.main import COMMANDS, Argument, Parser, add_all, parser_of
from tarry.cli.show import print_json

__all__ = ["SHELLS", "add_arguments", "run", "script"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The argument of `tarry completion`."""
    add_all(parser, Argument("shell", choices=list(SHELLS), help="your shell"))


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    text = script(arguments.shell)
    if arguments.json:
        print_json({"shell": arguments.shell, "script": text})
    else:
        print(text, end="")


def script(shell: str) -> str:
    """The script for a shell; it knows the commands of this version, and needs no Python to complete.

    >>> script("bash").splitlines()[0]
    '# Completes tarry in bash: made by tarry completion bash.'
    """
    parsers = {name: parser_of(name, command.place) for name, command in COMMANDS.items()}
    return f"# Completes tarry in {shell}: made by tarry completion {shell}.\n" + SHELLS[shell](parsers)


def _bash(parsers: dict[str, Parser]) -> str:
    cases = "".join(
        f"        {quote(way)}) words={quote(' '.join(words))} ;;\n" for way, words in _ways(parsers)
    )
    return f"""_tarry() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words=
    local way="${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}"
    ((COMP_CWORD > 2)) || way="${{COMP_WORDS[1]}} "
    ((COMP_CWORD > 1)) || way=
    [[ -z $way || " {_parents(parsers)} " == *" ${{COMP_WORDS[1]}} "* ]] || way="${{COMP_WORDS[1]}} "
    case $way in
{cases}    esac
    # Files, where nothing of ours begins like this.
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _tarry tarry
"""


def _zsh(parsers: dict[str, Parser]) -> str:
    cases = "".join(
        f"        {quote(way)}) offered=({' '.join(map(quote, words))}) ;;\n"
        for way, words in _ways(parsers)
    )
    return f"""#compdef tarry
_tarry() {{
    local -a offered
    local way="$words[2] $words[3]"
    (( CURRENT > 3 )) || way="$words[2] "
    (( CURRENT > 2 )) || way=
    [[ -z $way || " {_parents(parsers)} " == *" $words[2] "* ]] || way="$words[2] "
    case $way in
{cases}    esac
    compadd -a offered || _files
}}
compdef _tarry tarry
"""


def _fish(parsers: dict[str, Parser]) -> str:
    return "complete -c tarry -f -n __fish_use_subcommand\n" + "".join(
        f"{line}\n" for name, parser in parsers.items() for line in _fish_lines(name, parser)
    )


def _fish_lines(name: str, parser: Parser) -> Iterator[str]:
    yield f"complete -c tarry -n __fish_use_subcommand -a {name} -d {quote(COMMANDS[name].summary)}"
    chosen = f"__fish_seen_subcommand_from {name}"
    for subcommand, child in parser.subcommands.items():
        others = f"{chosen}; and not __fish_seen_subcommand_from {' '.join(parser.subcommands)}"
        yield f"complete -c tarry -n {quote(others)} -a {subcommand}"
        yield from _fish_options(f"{chosen}; and __fish_seen_subcommand_from {subcommand}", child)
    if not parser.subcommands:
        yield from _fish_options(chosen, parser)


def _fish_options(chosen: str, parser: Parser) -> Iterator[str]:
    for option in _options(parser):
        flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
        yield f"complete -c tarry -n {quote(chosen)} {flag}"


def _ways(parsers: dict[str, Parser]) -> Iterator[tuple[str, list[str]]]:
    """What may follow: after nothing, after a command, after a command and its subcommand."""
    yield "", [*parsers, "--help", "--version"]
    for name, parser in parsers.items():
        yield f"{name} ", [*parser.subcommands, *_options(parser)]
        for subcommand, child in parser.subcommands.items():
            yield f"{name} {subcommand}", _options(child)


def _options(parser: Parser) -> list[str]:
    return [
        option
        for action in parser._actions  # noqa: SLF001 - argparse has no other list of them
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    ]


def _parents(parsers: dict[str, Parser]) -> str:
    return " ".join(name for name, parser in parsers.items() if parser.subcommands)


#: The shells, and what writes the script of each.
SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
