#compdef gathercli
# zsh completion for gathercli; written by `python -m man.generate`
# Complete what follows "#" in a word, and the names of files before it: _gathercli_names KIND.
_gathercli_names() {
    local kind=$1
    shift
    if [[ $PREFIX != *'#'* ]]; then
        _files "$@"
        return
    fi
    local typed=${(Q)PREFIX}
    local start="${typed%\#*}#"
    local -a names=("${(@f)$(command gathercli __names $kind $typed 2>/dev/null)}")
    names=("${(@M)names:#"$start"*}")
    names=("${(@)names#"$start"}")
    compset -P '*[#]'
    compadd "$@" -a names
}
_gathercli_tensor() {
    compset -P @
    _gathercli_names tensor "$@"
}
_gathercli_job() {
    _gathercli_names job "$@"
}
_gathercli() {
    local -a commands=(
        'gather:Gather slices along an axis: OpenVINO 1, 7, 8; ONNX 1, 11, 13.'
        'gather-elements:Gather single elements: OpenVINO 6; ONNX 11, 13.'
        'gather-nd:Gather slices at tuples of indices: OpenVINO 5, 8; ONNX 11, 12, 13.'
        'gather-tree:Follow the beams of a beam search back: OpenVINO 1.'
        'shape:Infer the output shape from shapes alone.'
        'explain:Draw where every output cell came from.'
        'check:List illegal indices of a call or in models, and what every version does.'
        'compare:Run the same inputs through every version and compare results.'
        'diagnose:Name what explains a wrong output, and who does that.'
        'reproduce:Write a folder that shows what a runtime does with a call.'
        'translate:Write the call in another framework, as code or as a graph.'
        'batch:Run thousands of jobs from a file and report on each.'
        'convert:Convert tensors between the formats, whole folders of them.'
        'info:Describe files: type, shape, statistics, a preview.'
        'model:List the Gather nodes of a model, and what each refuses.'
        'demo:Learn the operators in short lessons, each with a question.'
        'ops:List, describe, compare and find operator versions.'
        'man:Show the manual.'
        'completion:Print the completion script of a shell.'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words; (( CURRENT-- ))
    case $command in
        gather) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end; default 0]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end; default 0]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 7, 8); default 0]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 7, 8); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--output=[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '-o[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--full[Show every element]' \
            '--expect=[Compare the result with this tensor; exit 1 where they differ]:tensor:_gathercli_tensor' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data]:sizes: ' \
            '--force-format[Write the format of --format even if the suffix of the file stands for another]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error]:way:(quoted bare null error)' \
            '--rtol=[Relative tolerance of --expect; default 0]:float: ' \
            '--atol=[Absolute tolerance of --expect; default 0]:float: ' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786; they must see the same files]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler; the authority that signs it]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '1:DATA:_gathercli_tensor' \
            '2:INDICES:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        gather-elements) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end; default 0, but required by OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end; default 0, but required by OpenVINO 6]:int: ' \
            '--version=[The version, such as openvino-6, onnx-13, onnx (its newest), '\''opset 17'\'' or torch.gather; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-6 onnx-13 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements)' \
            '-V[The version, such as openvino-6, onnx-13, onnx (its newest), '\''opset 17'\'' or torch.gather; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-6 onnx-13 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--output=[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '-o[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--full[Show every element]' \
            '--expect=[Compare the result with this tensor; exit 1 where they differ]:tensor:_gathercli_tensor' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data]:sizes: ' \
            '--force-format[Write the format of --format even if the suffix of the file stands for another]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error]:way:(quoted bare null error)' \
            '--rtol=[Relative tolerance of --expect; default 0]:float: ' \
            '--atol=[Absolute tolerance of --expect; default 0]:float: ' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786; they must see the same files]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler; the authority that signs it]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '1:DATA:_gathercli_tensor' \
            '2:INDICES:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        gather-nd) _arguments \
            '--batch-dims=[Leading dimensions that are batches (OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or tf.gather_nd; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-5 onnx-13 onnx-12 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or tf.gather_nd; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-5 onnx-13 onnx-12 onnx-11 coreml-ios17 coreml-ios16 coreml-ios15 jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--output=[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '-o[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--full[Show every element]' \
            '--expect=[Compare the result with this tensor; exit 1 where they differ]:tensor:_gathercli_tensor' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data]:sizes: ' \
            '--force-format[Write the format of --format even if the suffix of the file stands for another]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error]:way:(quoted bare null error)' \
            '--rtol=[Relative tolerance of --expect; default 0]:float: ' \
            '--atol=[Absolute tolerance of --expect; default 0]:float: ' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786; they must see the same files]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler; the authority that signs it]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '1:DATA:_gathercli_tensor' \
            '2:INDICES:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        gather-tree) _arguments \
            '--version=[The version, such as openvino-1, openvino (its newest) or openvino.GatherTree-1; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-1 tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-1, openvino (its newest) or openvino.GatherTree-1; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-1 tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--output=[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '-o[Write the result here; the suffix picks .npy, .npz, .json, .safetensors, .pb, .bin or .zarr; - is stdout]:path:_files' \
            '--format=[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '-f[auto (pretty on a terminal, json elsewhere), pretty, json, oip, npy or literal]:format:(auto pretty json oip npy literal)' \
            '--full[Show every element]' \
            '--expect=[Compare the result with this tensor; exit 1 where they differ]:tensor:_gathercli_tensor' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024; default like those of STEP_IDS]:sizes: ' \
            '--force-format[Write the format of --format even if the suffix of the file stands for another]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error]:way:(quoted bare null error)' \
            '--rtol=[Relative tolerance of --expect; default 0]:float: ' \
            '--atol=[Absolute tolerance of --expect; default 0]:float: ' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--step-ids-dtype=[The type of untyped STEP_IDS (float32, bf16…); typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:STEP_IDS:_gathercli_tensor' \
            '2:PARENT_IDS:_gathercli_tensor' \
            '3:MAX_SEQ_LEN:_gathercli_tensor' \
            '4:END_TOKEN:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        shape) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements gather-nd gather-tree)' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        explain) _arguments \
            '--job=[A job of a file, in place of OP, DATA and INDICES; the only one needs no #ID]:file#id:_gathercli_job' \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt]:path:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--aspect=[Lay out a drawing as a slide of this ratio of width to height, such as 16:9]:w:h: ' \
            '--size=[Draw on so many pixels, wide and high: 1920x1080; values have 28 of 1080]:wxh: ' \
            '--theme=[light, dark or transparent (light, without a background); default what the viewer prefers, or light]:theme:(light dark transparent)' \
            '--no-clobber[Do not replace an existing file]' \
            '--bare[With --save: draw the tensors alone, without words]' \
            '--animate[With --save: draw each cell in turn, as an .svg that moves]' \
            '--arrows=[auto (all of up to 24 output cells, else some), all, path (of one cell) or none]:which:(auto all path none)' \
            '--window=[What to show of the output, a slice a dimension: 0:3,:,10:20]:slices: ' \
            '--cell=[Trace one output cell in words and coordinates]:i,j,...: ' \
            '--step[Walk through the output cells: with keys on a terminal, a line a cell elsewhere]' \
            '--ascii[Use no characters beyond ASCII]' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements gather-nd gather-tree)' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        check) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--all[List every illegal index]' \
            '--allow-fill[Exit 0 where indices are filled with zeros, 1 only where they are refused]' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt]:path:_files' \
            '--aspect=[Lay out a drawing as a slide of this ratio of width to height, such as 16:9]:w:h: ' \
            '--size=[Draw on so many pixels, wide and high: 1920x1080; values have 28 of 1080]:wxh: ' \
            '--theme=[light, dark or transparent (light, without a background); default what the viewer prefers, or light]:theme:(light dark transparent)' \
            '--no-clobber[Do not replace an existing file]' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--to=[Also check what changes on the way to a target: openvino, onnx-OPSET, coreml-ios17, coreml-ios16, coreml-ios15, jax, numpy, tensorflow, tensorflow_addons, tensorrt, tflite, torch, webnn or xla]:target,...:(openvino onnx coreml-ios17 coreml-ios16 coreml-ios15 jax numpy tensorflow tensorflow_addons tensorrt tflite torch webnn xla)' \
            '--allow-unread[Take constants that cannot be read for notes, which fail no check]' \
            '--require-proven[Take nodes whose indices are not shown to be inside their axis for errors]' \
            '--junit=[Also write the nodes as tests in JUnit XML]:file:_files' \
            '--sarif=[Also write the findings as SARIF 2.1.0]:file:_files' \
            '--no-infer[Do not let the onnx package infer shapes that are not known]' \
            '1:OP:{compadd gather gather-elements gather-nd gather-tree; _files}' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        compare) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--ops=[Only these, with commas: commands (gather), versions (onnx-13), names (torch.gather)]:list:(gather gather-elements gather-nd gather-tree openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--of=[Only these frameworks: openvino,onnx,torch]:list:(openvino onnx coreml jax numpy tensorflow tensorrt tflite torch webnn xla)' \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt]:path:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--aspect=[Lay out a drawing as a slide of this ratio of width to height, such as 16:9]:w:h: ' \
            '--size=[Draw on so many pixels, wide and high: 1920x1080; values have 28 of 1080]:wxh: ' \
            '--theme=[light, dark or transparent (light, without a background); default what the viewer prefers, or light]:theme:(light dark transparent)' \
            '--no-clobber[Do not replace an existing file]' \
            '--threads=[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '-j[How many threads work on large tensors; default as many as there are cores]:n: ' \
            '--with=[Call these runtimes too, comma-separated: jax, numpy, onnxruntime, onnx.reference, openvino, tensorflow or torch; torch=/venv/bin/python names its Python]:list:(jax numpy onnxruntime onnx.reference openvino tensorflow torch)' \
            '--allow-absent[Exit with 0 though a named runtime cannot be called]' \
            '--timeout=[Seconds that the import of a runtime of --with, and each call, may take; default 60]:s: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--allow-outside[Take what becomes of an index outside for a note, which is no difference]' \
            '--no-infer[Do not let the onnx package infer shapes that are not known]' \
            '1:DATA:{compadd ; _files}' \
            '2:INDICES:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        diagnose) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--suggest[Also write a call that tells explanations that tie apart]' \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt]:path:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--rtol=[Relative tolerance of elements that are taken for equal; default 0]:float: ' \
            '--atol=[Absolute tolerance of them; default 0]:float: ' \
            '--aspect=[Lay out a drawing as a slide of this ratio of width to height, such as 16:9]:w:h: ' \
            '--size=[Draw on so many pixels, wide and high: 1920x1080; values have 28 of 1080]:wxh: ' \
            '--theme=[light, dark or transparent (light, without a background); default what the viewer prefers, or light]:theme:(light dark transparent)' \
            '--no-clobber[Do not replace an existing file]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--wrong-dtype=[The type of untyped WRONG; default that of DATA]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements gather-nd gather-tree)' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE... WRONG:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        reproduce) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--for=[The runtime: jax, numpy, onnxruntime, onnx.reference, openvino, tensorflow or torch; torch=/venv/bin/python names the Python that has it]:runtime:(jax numpy onnxruntime onnx.reference openvino tensorflow torch)' \
            '--output=[The folder to make]:dir:_files' \
            '-o[The folder to make]:dir:_files' \
            '--timeout=[Seconds that the import, and each call, may take; default 60]:s: ' \
            '--allow-absent[Exit with 0 though a named runtime cannot be called]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements gather-nd gather-tree)' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        translate) _arguments \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--to=[The framework: onnx-13, openvino-8, torch, tensorflow, jax, numpy or tflite; onnx and openvino without an opset are the newest]:target:(onnx openvino torch tensorflow jax numpy tflite onnx-13 openvino-8)' \
            '--output=[Write it to a file: .onnx, .xml with its .bin, or .py; without it the text is printed]:path:_files' \
            '-o[Write it to a file: .onnx, .xml with its .bin, or .py; without it the text is printed]:path:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--no-clobber[Do not replace an existing file]' \
            '--with=[Call these runtimes too, comma-separated: jax, numpy, onnxruntime, onnx.reference, openvino, tensorflow or torch; torch=/venv/bin/python names its Python]:list:(jax numpy onnxruntime onnx.reference openvino tensorflow torch)' \
            '--allow-absent[Exit with 0 though a named runtime cannot be called]' \
            '--timeout=[Seconds that the import of a runtime of --with, and each call, may take; default 60]:s: ' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:OP:(gather gather-elements gather-nd gather-tree)' \
            '2:DATA:_gathercli_tensor' \
            '3:INDICES:_gathercli_tensor' \
            '*:MORE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        batch) _arguments \
            '--rtol=[Relative tolerance of --expect; default 0]:float: ' \
            '--atol=[Absolute tolerance of --expect; default 0]:float: ' \
            '--dry-run[Validate all jobs and infer their shapes from headers; run and write nothing]' \
            '--workers=[How many processes; default one a core]:n: ' \
            '-j[How many processes; default one a core]:n: ' \
            '--fail-fast[Begin no job after one has failed]' \
            '--with=[Call these runtimes too, comma-separated: jax, numpy, onnxruntime, onnx.reference, openvino, tensorflow or torch; torch=/venv/bin/python names its Python]:list:(jax numpy onnxruntime onnx.reference openvino tensorflow torch)' \
            '--allow-outside[Let jobs of a file write outside its folder]' \
            '--max-failures=[Begin no job after more than N, or P percent of all, have failed]:n|p%: ' \
            '--retries=[Do a job up to N times again after a fault of reading or writing; default 0]:n: ' \
            '--timeout=[Seconds a job may take; after that it has failed]:s: ' \
            '--allow-absent[Exit with 0 though a named runtime cannot be called]' \
            '--report=[Write the lines of report here as jobs end, not to stdout; usable after a kill]:file:_files' \
            '--resume[Do what the report lacks, or what changed]' \
            '--junit=[Also write the report as JUnit XML]:file:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--resume-failed[Resume, and also do what has failed]' \
            '--hash[Note the content of files in the report and compare it, not their times]' \
            '--op=[The operator of jobs without a file: gather, gather-elements, gather-nd or gather-tree]:op:(gather gather-elements gather-nd gather-tree)' \
            '--data=[The files that are the data, as '\''in/*.npy'\'' or '\''in/**/*.npy'\''; or one tensor]:pattern:_gathercli_tensor' \
            '--indices=[The indices of each: a tensor, or '\''idx/{stem}.npy'\''; {name} has the suffix too, {dir} is the folder below the first *]:pattern:_gathercli_tensor' \
            '--output=[The files to write, as '\''out/{stem}.npy'\''; their folders are made]:pattern:_gathercli_tensor' \
            '-o[The files to write, as '\''out/{stem}.npy'\''; their folders are made]:pattern:_gathercli_tensor' \
            '--matrix=[Try every combination, as --matrix axis=0,1 version=openvino-8,onnx-13; {axis} and {version} then stand for the values]:key=a,b...: ' \
            '--expect=[What results should equal: '\''want/{stem}.npy'\'']:pattern:_gathercli_tensor' \
            '--step-ids=[The files that are STEP_IDS of gather-tree, as '\''in/*.npy'\'' or '\''in/**/*.npy'\''; or one tensor]:pattern:_gathercli_tensor' \
            '--parent-ids=[PARENT_IDS of gather-tree, likewise a tensor or a pattern with {stem}]:pattern:_gathercli_tensor' \
            '--max-seq-len=[MAX_SEQ_LEN of gather-tree, likewise a tensor or a pattern with {stem}]:pattern:_gathercli_tensor' \
            '--end-token=[END_TOKEN of gather-tree, likewise a tensor or a pattern with {stem}]:pattern:_gathercli_tensor' \
            '--axis=[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '-a[The dimension of DATA to gather along; negative counts from the end (gather; gather-elements); default 0, but required by gather-elements: OpenVINO 6]:int: ' \
            '--batch-dims=[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '-b[Leading dimensions that are batches (gather: OpenVINO 7, 8; gather-nd: OpenVINO 5, 8; ONNX 12, 13); default 0]:int: ' \
            '--version=[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '-V[The version, such as openvino-8, onnx-13, onnx (its newest), '\''opset 17'\'' or np.take; default GATHERCLI_VERSION, else OpenVINO'\''s newest]:version:(openvino-8 openvino-7 openvino-1 onnx-13 onnx-11 onnx-1 openvino-6 openvino-5 onnx-12 coreml-ios17 coreml-ios16 coreml-ios15 jax.numpy.take jax.getitem numpy.take numpy.getitem tensorflow.gather tensorflow.nn.embedding_lookup tensorrt.Gather tflite.GATHER tflite.EMBEDDING_LOOKUP torch.index_select torch.embedding torch.nn.functional.embedding torch.take torch.getitem webnn.gather xla.gather jax.numpy.take_along_axis numpy.take_along_axis tensorrt.GatherElements torch.gather torch.take_along_dim webnn.gatherElements xla.gather-elements jax.getitem_nd jax.lax.gather numpy.getitem_nd tensorflow.gather_nd tensorrt.GatherND tflite.GATHER_ND torch.getitem_nd webnn.gatherND xla.gather-nd tensorflow_addons.seq2seq.gather_tree)' \
            '--negative=[A negative index: spec (the version'\''s rule), wrap (from the end, once) or error]:policy:(spec wrap error)' \
            '--out-of-range=[An index outside the axis: spec (the version'\''s rule), error, zero, nan, extreme (NaN or an end of the type, as JAX fills), clamp or wrap (modulo the size)]:policy:(spec error zero nan extreme clamp wrap)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--feed=[What a node of a model, named by model.onnx#NODE in place of all inputs, gets at run time: a tensor, or INPUT=TENSOR]:tensor:_gathercli_tensor' \
            '--data-dtype=[The type of untyped DATA (float32, bf16…); typed DATA must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--indices-dtype=[The type of untyped INDICES; typed INDICES must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--step-ids-dtype=[The type of untyped STEP_IDS; typed STEP_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--parent-ids-dtype=[The type of untyped PARENT_IDS; typed PARENT_IDS must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-seq-len-dtype=[The type of untyped MAX_SEQ_LEN; typed MAX_SEQ_LEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--end-token-dtype=[The type of untyped END_TOKEN; typed END_TOKEN must convert without loss]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '--scheduler=[Let the workers of this dask scheduler do it, as tcp://host:8786; they must see the same files]:url: ' \
            '--scheduler-file=[The file that the scheduler writes, in place of its URL]:file:_files' \
            '--tls-ca-file=[Speak TLS with the scheduler; the authority that signs it]:file:_files' \
            '--tls-cert=[The certificate to show the scheduler]:file:_files' \
            '--tls-key=[The key of the certificate]:file:_files' \
            '*:JOBS...:_files' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        convert) _arguments \
            '--to=[npy, npz, json, oip, literal, safetensors, pb (ONNX), bin (raw bytes) or zarr; without it the suffix of DEST says so]:format:(npy npz json oip literal safetensors pb bin zarr)' \
            '--directory=[Write a file for every source into this folder, which is made if it is not there]:dir:_files' \
            '-d[Write a file for every source into this folder, which is made if it is not there]:dir:_files' \
            '--dtype=[Convert the elements to this type; refused if a value would change]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--lossy[Let --dtype round to the nearest, half to even; nothing wraps or becomes infinite]' \
            '--truncate[As --lossy, but make integers of floats towards zero]' \
            '--chunks=[Sizes of the chunks of a .zarr output, as 64,1024; default like those of the data]:sizes: ' \
            '--force-format[Write the format of --format even if the suffix of the file stands for another]' \
            '--no-clobber[Do not replace an existing file]' \
            '--fsync[Return once the file and its name are on the disk]' \
            '--nonfinite=[NaN and infinities in JSON: quoted ("NaN"), bare (NaN), null, or error]:way:(quoted bare null error)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--data-dtype=[The type of untyped tensors: plain JSON, bare lists, bfloat16 or float8 in .npy]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '*:SRC... DEST:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        info) _arguments \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt]:path:_files' \
            '--aspect=[Lay out a drawing as a slide of this ratio of width to height, such as 16:9]:w:h: ' \
            '--size=[Draw on so many pixels, wide and high: 1920x1080; values have 28 of 1080]:wxh: ' \
            '--theme=[light, dark or transparent (light, without a background); default what the viewer prefers, or light]:theme:(light dark transparent)' \
            '--no-clobber[Do not replace an existing file]' \
            '--heat[Also draw two dimensions by colour or shade, in bins that fit, by their means]' \
            '--window=[What --heat and --save draw, a slice a dimension: 0,:,10:20]:slices: ' \
            '--precision=[Significant digits of shown floats, 1 to 17; default 6]:n: ' \
            '--ascii[Use no characters beyond ASCII]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--header[Read no elements: type, shape and members alone]' \
            '--data-dtype=[The type of untyped tensors: plain JSON, bare lists, bfloat16 or float8 in .npy]:dtype:(bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4 int2 uint2)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '*:FILE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        model) _arguments \
            '--all[List the tensors that the model stores, too]' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--external-data[Read tensors that an ONNX model keeps in regular files beside it]' \
            '--no-infer[Do not let the onnx package infer shapes that are not known]' \
            '--max-bytes=[Limit of what is held in memory, and of a result that is not .zarr, with K, M, G, Ki, Mi or Gi; 0 lifts it]:size: ' \
            '--quiet[Print no notes]' \
            '-q[Print no notes]' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '*:FILE...:_gathercli_tensor' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        demo) _arguments \
            '--save=[Also keep the picture: .svg, .png, .pdf, .html or .txt; of the lesson models the .onnx]:path:_files' \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--no-clobber[Do not replace an existing file]' \
            '--answer[Also answer the question of the lesson]' \
            '--list[List the lessons]' \
            '--all[Show every lesson: with keys on a terminal, elsewhere one after another, and the answers at the end]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:NAME:(gather rows columns table negative outside frameworks batch-dims shape gather-elements gather-nd gather-tree choose scatter embeddings labels beam-search channels mask models 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        ops) _arguments \
            '--format=[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '-f[auto (pretty on a terminal, plain text elsewhere), pretty or json]:format:(auto pretty json)' \
            '--diff=[What two versions do differently, and what that means for a model that moves]:a b:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1 coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd):a b:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1 coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd)' \
            '--like=[The versions that another framework'\''s call equals, such as torch.gather, np.take]:call:(coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd)' \
            '--decisions[Where the specifications are silent or contradict themselves, and what is done]' \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:ID:(openvino.Gather-8 openvino.Gather-7 openvino.Gather-1 onnx.Gather-13 onnx.Gather-11 onnx.Gather-1 openvino.GatherElements-6 onnx.GatherElements-13 onnx.GatherElements-11 openvino.GatherND-8 openvino.GatherND-5 onnx.GatherND-13 onnx.GatherND-12 onnx.GatherND-11 openvino.GatherTree-1 coreml.gather-ios17 coreml.gather_along_axis-ios17 coreml.gather_nd-ios17 coreml.gather-ios16 coreml.gather_along_axis-ios16 coreml.gather_nd-ios16 coreml.gather-ios15 coreml.gather_along_axis-ios15 coreml.gather_nd-ios15 jax.numpy.take jax.numpy.take_along_axis jax.getitem jax.getitem_nd jax.lax.gather numpy.take numpy.take_along_axis numpy.getitem numpy.getitem_nd tensorflow.gather tensorflow.nn.embedding_lookup tensorflow.gather_nd tensorflow_addons.seq2seq.gather_tree tensorrt.Gather tensorrt.GatherElements tensorrt.GatherND tflite.GATHER tflite.EMBEDDING_LOOKUP tflite.GATHER_ND torch.index_select torch.embedding torch.nn.functional.embedding torch.gather torch.take_along_dim torch.take torch.getitem torch.getitem_nd webnn.gather webnn.gatherElements webnn.gatherND xla.gather xla.gather-elements xla.gather-nd)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        man) _arguments \
            '--color=[auto (asks NO_COLOR, FORCE_COLOR and the terminal), always or never]:when:(auto always never)' \
            '--json-errors[Print a refusal as one line of JSON]' \
            '--debug[Show the traceback of a failure]' \
            '1:COMMAND:(gather gather-elements gather-nd gather-tree shape explain check compare diagnose reproduce translate batch convert info model demo ops man completion formats jobs operators planning)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
        completion) _arguments \
            '1:SHELL:(bash zsh fish)' \
            '(-h --help)'{-h,--help}'[Show the options and exit.]' ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _gathercli "$@"
else
    compdef _gathercli gathercli
fi
