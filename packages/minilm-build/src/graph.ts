import {
  ATTRIBUTE,
  type Attribute,
  ELEMENT,
  encodeModel,
  type Initializer,
  type Node,
  type ValueInfo,
} from './onnx.ts';

/** Version of ONNX's operator set. LayerNormalization requires version 17. */
const OPSET = 17;

/** Version of ONNX's file format. */
const IR_VERSION = 8;

/** The set of ONNX Runtime's own operators, which are not part of the ONNX standard. */
const RUNTIME_DOMAIN = { domain: 'com.microsoft', version: 1 };

export type TensorName = string;

/** Name of an omitted optional input. */
export const NONE: TensorName = '';

export type TensorValues = Float32Array | Int8Array | Uint8Array | Int32Array | BigInt64Array;

/** A number becomes an ONNX attribute of type int, a list of numbers becomes ints, and `{ float }` becomes a float. */
type AttributeValue = number | number[] | { float: number };

/** A builder of a computation graph. `add` adds an operator and returns the name of its result. */
export class Graph {
  readonly #nodes: Node[] = [];
  readonly #initializers = new Map<TensorName, Initializer>();
  readonly #inputs: ValueInfo[] = [];
  readonly #outputs: ValueInfo[] = [];

  /** Adds an input. A dimension given as a name instead of a number has a variable size. */
  input(name: TensorName, element: keyof typeof ELEMENT, dimensions: (number | string)[]): TensorName {
    this.#inputs.push(createValueInfo(name, element, dimensions));
    return name;
  }

  /** Adds an output with the name `name` and the value of a tensor. */
  output(
    name: TensorName,
    tensor: TensorName,
    dimensions: (number | string)[],
    element: keyof typeof ELEMENT = 'float',
  ): void {
    this.#nodes.push({ opType: 'Identity', domain: '', name, input: [tensor], output: [name], attribute: [] });
    this.#outputs.push(createValueInfo(name, element, dimensions));
  }

  /** Adds a constant tensor, or reuses an earlier constant with the same name. */
  constant(name: TensorName, dims: number[], values: TensorValues): TensorName {
    if (!this.#initializers.has(name)) {
      const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      this.#initializers.set(name, { name, dataType: getElementType(values), dims, rawData });
    }
    return name;
  }

  /** Adds a constant 32-bit float without dimensions. */
  scalar(value: number): TensorName {
    return this.constant(`float ${value}`, [], Float32Array.of(value));
  }

  /** Adds a constant list of integers, for shapes and axes. */
  integers(...values: number[]): TensorName {
    return this.constant(`int ${values}`, [values.length], BigInt64Array.from(values, BigInt));
  }

  /**
   * Adds an operator with one result, and returns the name of the result. A non-standard operator is given as
   * `domain::type`.
   */
  add(operator: string, input: TensorName[], attributes: Record<string, AttributeValue> = {}): TensorName {
    const [opType = '', domain = ''] = operator.split('::').reverse();
    const name = `${opType} ${this.#nodes.length}`;
    const attribute = Object.entries(attributes).map(([key, value]) => getAttribute(key, value));
    this.#nodes.push({ opType, domain, name, input, output: [name], attribute });
    return name;
  }

  /** Returns the graph as an ONNX file. */
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

function createValueInfo(name: string, element: keyof typeof ELEMENT, dimensions: (number | string)[]): ValueInfo {
  const dim = dimensions.map((size) => (typeof size === 'string' ? { dimParam: size } : { dimValue: size }));
  return { name, type: { tensorType: { elemType: ELEMENT[element], shape: { dim } } } };
}
