# bash completion for gathercli; written by `python -m man.generate`
# Complete what follows "#" in a word: _gathercli_names KIND WORD, with the word that is replaced.
# It fails where there is no "#". Whatever names hold, nothing of them is expanded or run.
_gathercli_names() {
    local word="${COMP_WORDS[COMP_CWORD]}" line="${COMP_LINE:0:${COMP_POINT:-0}}" at=$COMP_CWORD
    local typed="$word" before
    # A colon and the like divide a word; after an option an equals sign begins one.
    while (( at > 2 )); do
        before="${COMP_WORDS[at-1]}"
        if [[ "$line" != *"$before$typed" ]]; then break; fi
        if [[ "$before" == "="* && "${COMP_WORDS[at-2]}" == -* ]]; then
            typed="${before:1}$typed"
            break
        fi
        typed="$before$typed"
        (( at-- ))
    done
    if [[ "$typed" != *"#"* ]]; then return 1; fi
    case "$word" in *[!:=@]*) ;; *) word="" ;; esac
    # What was typed stays, up to the last "#" or division; the rest of a name is quoted.
    local kept="" start="${typed%"$word"}" quote="" apostrophe="'\\''" name
    if [[ "$word" == *"#"* ]]; then kept="${word%"#"*}#" start="${typed%"#"*}#"; fi
    case "$typed" in
        [\'\"]*) quote="${typed:0:1}" typed="${typed:1}" start="${start:1}" kept="${kept:1}" ;;
    esac
    if [[ "$quote" != "'" ]]; then typed="${typed//\\/}" start="${start//\\/}"; fi
    if [[ "$2" == @* && "$word" != @* ]]; then kept="@$kept"; fi
    while IFS= read -r name; do
        if [[ -z "$name" || "$name" != "$typed"* ]]; then continue; fi
        name="${name#"$start"}"
        case "$quote" in
            \') name="${name//\'/$apostrophe}" ;;
            \") name="$(printf %s "$name" | sed 's/[\\"$`]/\\&/g')" ;;
            *) printf -v name %q "$name" ;;
        esac
        COMPREPLY+=("$kept$name")
    done <<< "$(command gathercli __names "$1" "$typed" 2>/dev/null)"
}
_gathercli() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
    local command="${COMP_WORDS[1]}" words="" kind=tensor
    COMPREPLY=()
    if [[ "$word" == "=" ]]; then word=""; fi
    if [[ "$before" == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi
    if (( COMP_CWORD == 1 )); then
        words="{{commands}} --help --version"
    else
{{second_values}}
        case "$command $before" in
            {{jobs}}) kind=job ;;
        esac
        if _gathercli_names "$kind" "$2"; then return; fi
        case "$command $before" in
{{values}}
        esac
        if [[ "$word" == -* ]]; then
            case "$command" in
{{options}}
            esac
        fi
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}
complete -o default -F _gathercli gathercli
