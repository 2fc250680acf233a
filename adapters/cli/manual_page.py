# SPDX-License-Identifier: BSD-3-Clause
"""What the graft command says of itself, as a manual page (compressed, the same bytes each time) and as completions for bash.

    manual_page.py COMMAND VERSION PAGE.1.gz COMPLETIONS
"""
import gzip
import re
import subprocess
import sys
from pathlib import Path


def said_by(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def as_roff(text):
    """Lines as they stand."""
    lines = (line.replace("\\", "\\e").replace("-", "\\-") for line in text.rstrip().splitlines())
    return ".nf\n" + "\n".join(("\\&" if line[:1] in (".", "'") else "") + line for line in lines) + "\n.fi\n"


def page(version, overview, helps):
    parts = [f'.TH GRAFT 1 "" "Graft {version}" "User Commands"\n',
             ".SH NAME\ngraft \\- gravity and Coulomb forces for simulation codes, from the shell\n",
             ".SH SYNOPSIS\n.B graft\n.I COMMAND\n[options]\n", ".SH DESCRIPTION\n", as_roff(overview)]
    for name, text in helps.items():
        parts += [f'.SH "GRAFT {name.upper()}"\n', as_roff(text)]
    return "".join(parts)


def completions(helps):
    options = {name: sorted(set(re.findall(r"^  (?:-\w \[ )?(--[a-z][a-z0-9-]*)", text, flags=re.M))) for name, text in helps.items()}
    cases = "\n".join(f"        {name}) words=\"{' '.join(words)}\" ;;" for name, words in options.items())
    return f"""# bash completion of the graft command; made from what its --help says.
_graft() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words="{' '.join(helps)} --help --version"
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="" ;;
        esac
    fi
    COMPREPLY=()
    [ "$COMP_CWORD" -gt 1 ] && [ "${{word:0:1}}" != - ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o default -F _graft graft
"""


def main():
    command, version, made_page, made_completions = sys.argv[1:]
    overview = said_by(command, "--help")
    names = re.findall(r"^  (\w+) {2,}\S", overview.split("usage:")[1].split("A first run")[0], flags=re.M)
    helps = {name: said_by(command, name, "--help") for name in names}
    Path(made_page).write_bytes(gzip.compress(page(version, overview, helps).encode(), mtime=0))
    Path(made_completions).parent.mkdir(parents=True, exist_ok=True)
    Path(made_completions).write_text(completions(helps))


if __name__ == "__main__":
    main()
