import {
  ATTRIBUTE,
  type Attribute,
  ELEMENT,
  encodeModel,
  type Initializer,
  type Node,
  type ValueInfo,
} from './onnx.ts';

/** ONNX's operator set and file format that this graph is written in; LayerNormalization came with 17. */
const OPSET = 17;
const IR_VERSION = 8;

/** The operators of ONNX Runtime itself, and their version. */
const RUNTIME_DOMAIN = { domain: 'com.microsoft', version: 1 };

/** The name of a tensor within the graph. */
export type TensorName = string;

/** In place of an input that an operator can do without. */
export const NONE: TensorName = '';

export type TensorValues = Float32Array | Int8Array | Uint8Array | Int32Array | BigInt64Array;

/** A fraction is written as a float attribute, a whole number as an int. */
type AttributeValue = number | number[] | { float: number };

/** A computation graph being written: each call adds one operator and answers the name of what it yields. */
export class Graph {
  readonly #nodes: Node[] = [];
  readonly #initializers = new Map<TensorName, Initializer>();
  readonly #inputs: ValueInfo[] = [];
  readonly #outputs: ValueInfo[] = [];

  /** A tensor given at each run; a dimension that is a name is free. */
  input(name: TensorName, element: keyof typeof ELEMENT, dimensions: (number | string)[]): TensorName {
    this.#inputs.push(valueInfo(name, element, dimensions));
    return name;
  }

  /** Lets a run answer a tensor, under a name of its own. */
  output(
    name: TensorName,
    tensor: TensorName,
    dimensions: (number | string)[],
    element: keyof typeof ELEMENT = 'float',
  ): void {
    this.#nodes.push({ opType: 'Identity', domain: '', name, input: [tensor], output: [name], attribute: [] });
    this.#outputs.push(valueInfo(name, element, dimensions));
  }

  /** A tensor of constants, kept once for each name. */
  constant(name: TensorName, dims: number[], values: TensorValues): TensorName {
    if (!this.#initializers.has(name)) {
      const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      this.#initializers.set(name, { name, dataType: getElementType(values), dims, rawData });
    }
    return name;
  }

  /** One number. */
  scalar(value: number): TensorName {
    return this.constant(`float ${value}`, [], Float32Array.of(value));
  }

  /** A list of whole numbers, as shapes and axes are given. */
  integers(...values: number[]): TensorName {
    return this.constant(`int ${values}`, [values.length], BigInt64Array.from(values, BigInt));
  }

  /** Adds an operator, `domain::type` where it is none of the standard's, with one result. */
  add(operator: string, input: TensorName[], attributes: Record<string, AttributeValue> = {}): TensorName {
    const [opType = '', domain = ''] = operator.split('::').reverse();
    const name = `${opType} ${this.#nodes.length}`;
    const attribute = Object.entries(attributes).map(([key, value]) => getAttribute(key, value));
    this.#nodes.push({ opType, domain, name, input, output: [name], attribute });
    return name;
  }

  /** The graph as an ONNX file. */
  encode(): Uint8Array {
    return encodeModel({
      irVersion: IR_VERSION,
      producerName: 'memoryd',
      opsetImport: [{ domain: '', version: OPSET }, RUNTIME_DOMAIN],
      graph: {
        name: 'minilm',
        node: this.#nodes,
        initializer: [...this.#initializers.values()],
        input: this.#inputs,
        output: this.#outputs,
      },
    });
  }
}

function getElementType(values: TensorValues): number {
  if (values instanceof Float32Array) return ELEMENT.float;
  if (values instanceof Int8Array) return ELEMENT.int8;
  if (values instanceof Uint8Array) return ELEMENT.uint8;
  return values instanceof Int32Array ? ELEMENT.int32 : ELEMENT.int64;
}

function getAttribute(name: string, value: AttributeValue): Attribute {
  if (Array.isArray(value)) return { name, type: ATTRIBUTE.ints, ints: value };
  if (typeof value === 'number') return { name, type: ATTRIBUTE.int, i: value };
  return { name, type: ATTRIBUTE.float, f: value.float };
}

function valueInfo(name: string, element: keyof typeof ELEMENT, dimensions: (number | string)[]): ValueInfo {
  const dim = dimensions.map((size) => (typeof size === 'string' ? { dimParam: size } : { dimValue: size }));
  return { name, type: { tensorType: { elemType: ELEMENT[element], shape: { dim } } } };
}
