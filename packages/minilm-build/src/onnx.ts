import protobuf from 'protobufjs';

/**
 * The used subset of ONNX's protobuf messages, as `name: [number, type]`; `repeated` marks repeated fields. Numbers and
 * meanings: https://onnx.ai/onnx/repo-docs/IR.html
 */
const MESSAGES: Record<string, Record<string, [number, string]>> = {
  ModelProto: {
    irVersion: [1, 'int64'],
    producerName: [2, 'string'],
    graph: [7, 'GraphProto'],
    opsetImport: [8, 'repeated OperatorSetIdProto'],
  },
  OperatorSetIdProto: { domain: [1, 'string'], version: [2, 'int64'] },
  GraphProto: {
    node: [1, 'repeated NodeProto'],
    name: [2, 'string'],
    initializer: [5, 'repeated TensorProto'],
    input: [11, 'repeated ValueInfoProto'],
    output: [12, 'repeated ValueInfoProto'],
  },
  NodeProto: {
    input: [1, 'repeated string'],
    output: [2, 'repeated string'],
    name: [3, 'string'],
    opType: [4, 'string'],
    domain: [7, 'string'],
    attribute: [5, 'repeated AttributeProto'],
  },
  AttributeProto: {
    name: [1, 'string'],
    f: [2, 'float'],
    i: [3, 'int64'],
    ints: [8, 'repeated int64'],
    type: [20, 'int32'],
  },
  TensorProto: {
    dims: [1, 'repeated int64'],
    dataType: [2, 'int32'],
    name: [8, 'string'],
    rawData: [9, 'bytes'],
  },
  ValueInfoProto: { name: [1, 'string'], type: [2, 'TypeProto'] },
  TypeProto: { tensorType: [1, 'TensorTypeProto'] },
  TensorTypeProto: { elemType: [1, 'int32'], shape: [2, 'TensorShapeProto'] },
  TensorShapeProto: { dim: [1, 'repeated DimensionProto'] },
  DimensionProto: { dimValue: [1, 'int64'], dimParam: [2, 'string'] },
};

/** Numbers of the used element types of tensors. */
export const ELEMENT = { float: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const;

/** Numbers of the used attribute types. */
export const ATTRIBUTE = { float: 1, int: 2, ints: 7 } as const;

export interface Attribute {
  name: string;
  type: number;
  f?: number;
  i?: number;
  ints?: number[];
}

export interface Node {
  opType: string;
  /** Empty for standard operators. */
  domain: string;
  name: string;
  input: string[];
  output: string[];
  attribute: Attribute[];
}

export interface Initializer {
  name: string;
  dataType: number;
  dims: number[];
  rawData: Uint8Array;
}

/** An input or output tensor. A dimension with a name (`dimParam`) has a variable size. */
export interface ValueInfo {
  name: string;
  type: { tensorType: { elemType: number; shape: { dim: { dimValue?: number; dimParam?: string }[] } } };
}

export interface Model {
  irVersion: number;
  producerName: string;
  opsetImport: { domain: string; version: number }[];
  graph: { name: string; node: Node[]; initializer: Initializer[]; input: ValueInfo[]; output: ValueInfo[] };
}

const ModelProto = describeMessages().lookupType('ModelProto');

export function encodeModel(model: Model): Uint8Array {
  return ModelProto.encode(ModelProto.fromObject(model)).finish();
}

export function decodeModel(bytes: Uint8Array): Model {
  return ModelProto.toObject(ModelProto.decode(bytes), { longs: Number, arrays: true, defaults: true }) as Model;
}

function describeMessages(): protobuf.Root {
  const root = new protobuf.Root();
  for (const [name, fields] of Object.entries(MESSAGES)) {
    const message = new protobuf.Type(name);
    for (const [field, [id, type]] of Object.entries(fields)) {
      const repeated = type.startsWith('repeated ');
      message.add(new protobuf.Field(field, id, type.replace('repeated ', ''), repeated ? 'repeated' : undefined));
    }
    root.add(message);
  }
  return root;
}
