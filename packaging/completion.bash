# Completion of bash for the program ballast: commands, flags and file names. The words come from
# the program's own help, so they are always those of the version that is installed.

_ballast_words() {
  ballast "$@" --help 2>/dev/null
}

_ballast() {
  local current=${COMP_WORDS[COMP_CWORD]} command=() word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    command+=("$word")
    # Only these have commands of their own.
    [[ ${#command[@]} -ge 2 || ! ${command[0]} =~ ^(ca|data|bench)$ ]] && break
  done
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_ballast_words "${command[@]}" |
      grep -o -E -- '--[a-z][a-z0-9-]*' | sort -u)" -- "$current")
  elif [[ $COMP_CWORD -eq 1 || (${#command[@]} -eq 1 && ${command[0]} =~ ^(ca|data|bench)$ &&
    $COMP_CWORD -eq 2) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_ballast_words "${command[@]}" |
      sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')" -- "$current")
  fi
  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _ballast ballast
