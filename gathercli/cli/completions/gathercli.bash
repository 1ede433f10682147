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
        words="gather gather-elements gather-nd gather-tree shape explain check compare diagnose reproduce translate batch convert info model demo ops man completion --help --version"
    else
        if [[ "$command ${COMP_WORDS[COMP_CWORD-2]}" == "ops --diff" ]]; then before=--diff; fi
        case "$command $before" in
            "explain --job") kind=job ;;
        esac
        if _gathercli_names "$kind" "$2"; then return; fi
        case "$command $before" in
            "gather --version"|"gather -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather" ;;
            "gather --negative") words="spec wrap error" ;;
            "gather --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "gather --format"|"gather -f") words="auto pretty json oip npy literal" ;;
            "gather --nonfinite") words="quoted bare null error" ;;
            "gather --color") words="auto always never" ;;
            "gather --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-elements --version"|"gather-elements -V") words="openvino-6 onnx-13 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements" ;;
            "gather-elements --negative") words="spec wrap error" ;;
            "gather-elements --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "gather-elements --format"|"gather-elements -f") words="auto pretty json oip npy literal" ;;
            "gather-elements --nonfinite") words="quoted bare null error" ;;
            "gather-elements --color") words="auto always never" ;;
            "gather-elements --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-elements --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-nd --version"|"gather-nd -V") words="openvino-8 openvino-5 onnx-13 onnx-12 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd" ;;
            "gather-nd --negative") words="spec wrap error" ;;
            "gather-nd --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "gather-nd --format"|"gather-nd -f") words="auto pretty json oip npy literal" ;;
            "gather-nd --nonfinite") words="quoted bare null error" ;;
            "gather-nd --color") words="auto always never" ;;
            "gather-nd --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-nd --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-tree --version"|"gather-tree -V") words="openvino-1 tensorflow_addons.seq2seq.gather_tree" ;;
            "gather-tree --negative") words="spec wrap error" ;;
            "gather-tree --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "gather-tree --format"|"gather-tree -f") words="auto pretty json oip npy literal" ;;
            "gather-tree --nonfinite") words="quoted bare null error" ;;
            "gather-tree --color") words="auto always never" ;;
            "gather-tree --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-tree --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-tree --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "gather-tree --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --version"|"shape -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "shape --negative") words="spec wrap error" ;;
            "shape --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "shape --format"|"shape -f") words="auto pretty json" ;;
            "shape --color") words="auto always never" ;;
            "shape --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "shape shape") words="gather gather-elements gather-nd gather-tree" ;;
            "explain --version"|"explain -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "explain --negative") words="spec wrap error" ;;
            "explain --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "explain --format"|"explain -f") words="auto pretty json" ;;
            "explain --theme") words="light dark transparent" ;;
            "explain --arrows") words="auto all path none" ;;
            "explain --color") words="auto always never" ;;
            "explain --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "explain explain") words="gather gather-elements gather-nd gather-tree" ;;
            "check --version"|"check -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "check --negative") words="spec wrap error" ;;
            "check --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "check --format"|"check -f") words="auto pretty json" ;;
            "check --theme") words="light dark transparent" ;;
            "check --color") words="auto always never" ;;
            "check --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "check --to") words="openvino onnx coreml-ios17 coreml-ios16 coreml-ios15 jax numpy tensorflow tensorflow_addons tensorrt tflite torch webnn xla" ;;
            "check check") words="gather gather-elements gather-nd gather-tree" ;;
            "compare --ops") words="gather gather-elements gather-nd gather-tree openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1" ;;
            "compare --negative") words="spec wrap error" ;;
            "compare --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "compare --of") words="openvino onnx coreml jax numpy tensorflow tensorrt tflite torch webnn xla" ;;
            "compare --format"|"compare -f") words="auto pretty json" ;;
            "compare --theme") words="light dark transparent" ;;
            "compare --with") words="jax numpy onnxruntime onnx.reference openvino tensorflow torch" ;;
            "compare --color") words="auto always never" ;;
            "compare --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "compare --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --version"|"diagnose -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "diagnose --negative") words="spec wrap error" ;;
            "diagnose --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "diagnose --format"|"diagnose -f") words="auto pretty json" ;;
            "diagnose --theme") words="light dark transparent" ;;
            "diagnose --color") words="auto always never" ;;
            "diagnose --wrong-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "diagnose diagnose") words="gather gather-elements gather-nd gather-tree" ;;
            "reproduce --version"|"reproduce -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "reproduce --negative") words="spec wrap error" ;;
            "reproduce --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "reproduce --for") words="jax numpy onnxruntime onnx.reference openvino tensorflow torch" ;;
            "reproduce --color") words="auto always never" ;;
            "reproduce --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "reproduce reproduce") words="gather gather-elements gather-nd gather-tree" ;;
            "translate --version"|"translate -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "translate --negative") words="spec wrap error" ;;
            "translate --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "translate --to") words="onnx openvino torch tensorflow jax numpy tflite onnx-13 openvino-8" ;;
            "translate --format"|"translate -f") words="auto pretty json" ;;
            "translate --with") words="jax numpy onnxruntime onnx.reference openvino tensorflow torch" ;;
            "translate --color") words="auto always never" ;;
            "translate --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "translate translate") words="gather gather-elements gather-nd gather-tree" ;;
            "batch --with") words="jax numpy onnxruntime onnx.reference openvino tensorflow torch" ;;
            "batch --format"|"batch -f") words="auto pretty json" ;;
            "batch --op") words="gather gather-elements gather-nd gather-tree" ;;
            "batch --version"|"batch -V") words="openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree" ;;
            "batch --negative") words="spec wrap error" ;;
            "batch --out-of-range") words="spec error zero nan extreme clamp wrap" ;;
            "batch --color") words="auto always never" ;;
            "batch --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "batch --indices-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "batch --step-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "batch --parent-ids-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "batch --max-seq-len-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "batch --end-token-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "convert --to") words="npy npz json oip literal safetensors pb bin zarr" ;;
            "convert --dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "convert --nonfinite") words="quoted bare null error" ;;
            "convert --color") words="auto always never" ;;
            "convert --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "info --format"|"info -f") words="auto pretty json" ;;
            "info --theme") words="light dark transparent" ;;
            "info --color") words="auto always never" ;;
            "info --data-dtype") words="bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2" ;;
            "model --format"|"model -f") words="auto pretty json" ;;
            "model --color") words="auto always never" ;;
            "demo --format"|"demo -f") words="auto pretty json" ;;
            "demo --color") words="auto always never" ;;
            "demo demo") words="gather rows columns table negative outside frameworks batch-dims shape gather-elements gather-nd gather-tree choose scatter embeddings labels beam-search channels mask models 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20" ;;
            "ops --format"|"ops -f") words="auto pretty json" ;;
            "ops --diff") words="openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1 coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd" ;;
            "ops --like") words="coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd" ;;
            "ops --color") words="auto always never" ;;
            "ops ops") words="openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1 coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd" ;;
            "man --color") words="auto always never" ;;
            "man man") words="gather gather-elements gather-nd gather-tree shape explain check compare diagnose reproduce translate batch convert info model demo ops man completion formats jobs operators planning" ;;
            "completion completion") words="bash zsh fish" ;;
        esac
        if [[ "$word" == -* ]]; then
            case "$command" in
                gather) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --output -o --format -f --full --expect --chunks --force-format --no-clobber --fsync --nonfinite --rtol --atol --threads -j --precision --color --external-data --feed --data-dtype --indices-dtype --max-bytes --quiet -q --json-errors --debug --scheduler --scheduler-file --tls-ca-file --tls-cert --tls-key -h --help" ;;
                gather-elements) words="--axis -a --version -V --negative --out-of-range --output -o --format -f --full --expect --chunks --force-format --no-clobber --fsync --nonfinite --rtol --atol --threads -j --precision --color --external-data --feed --data-dtype --indices-dtype --max-bytes --quiet -q --json-errors --debug --scheduler --scheduler-file --tls-ca-file --tls-cert --tls-key -h --help" ;;
                gather-nd) words="--batch-dims -b --version -V --negative --out-of-range --output -o --format -f --full --expect --chunks --force-format --no-clobber --fsync --nonfinite --rtol --atol --threads -j --precision --color --external-data --feed --data-dtype --indices-dtype --max-bytes --quiet -q --json-errors --debug --scheduler --scheduler-file --tls-ca-file --tls-cert --tls-key -h --help" ;;
                gather-tree) words="--version -V --negative --out-of-range --output -o --format -f --full --expect --chunks --force-format --no-clobber --fsync --nonfinite --rtol --atol --threads -j --precision --color --external-data --feed --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                shape) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --format -f --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                explain) words="--job --axis -a --batch-dims -b --version -V --negative --out-of-range --save --format -f --aspect --size --theme --no-clobber --bare --animate --arrows --window --cell --step --ascii --precision --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                check) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --all --allow-fill --format -f --save --aspect --size --theme --no-clobber --threads -j --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug --to --allow-unread --require-proven --junit --sarif --no-infer -h --help" ;;
                compare) words="--axis -a --batch-dims -b --ops --negative --out-of-range --of --save --format -f --aspect --size --theme --no-clobber --threads -j --with --allow-absent --timeout --color --external-data --feed --data-dtype --indices-dtype --max-bytes --quiet -q --json-errors --debug --allow-outside --no-infer -h --help" ;;
                diagnose) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --suggest --save --format -f --rtol --atol --aspect --size --theme --no-clobber --color --external-data --feed --wrong-dtype --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                reproduce) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --for --output -o --timeout --allow-absent --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                translate) words="--axis -a --batch-dims -b --version -V --negative --out-of-range --to --output -o --format -f --no-clobber --with --allow-absent --timeout --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                batch) words="--rtol --atol --dry-run --workers -j --fail-fast --with --allow-outside --max-failures --retries --timeout --allow-absent --report --resume --junit --format -f --resume-failed --hash --op --data --indices --output -o --matrix --expect --step-ids --parent-ids --max-seq-len --end-token --axis -a --batch-dims -b --version -V --negative --out-of-range --color --external-data --feed --data-dtype --indices-dtype --step-ids-dtype --parent-ids-dtype --max-seq-len-dtype --end-token-dtype --max-bytes --quiet -q --json-errors --debug --scheduler --scheduler-file --tls-ca-file --tls-cert --tls-key -h --help" ;;
                convert) words="--to --directory -d --dtype --lossy --truncate --chunks --force-format --no-clobber --fsync --nonfinite --color --data-dtype --external-data --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                info) words="--format -f --save --aspect --size --theme --no-clobber --heat --window --precision --ascii --color --header --data-dtype --external-data --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                model) words="--all --format -f --color --external-data --no-infer --max-bytes --quiet -q --json-errors --debug -h --help" ;;
                demo) words="--save --format -f --no-clobber --answer --list --all --color --json-errors --debug -h --help" ;;
                ops) words="--format -f --diff --like --decisions --color --json-errors --debug -h --help" ;;
                man) words="--color --json-errors --debug -h --help" ;;
                completion) words="-h --help" ;;
            esac
        fi
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}
complete -o default -F _gathercli gathercli
