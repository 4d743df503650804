/** Bounds of one message. */
export type MessageLimits = Readonly<{
  /** Calls of a batch. */
  batchItems: number;
  /** Deepest nesting of arrays and objects. */
  depth: number;
  /** Bytes of one call: of a message that is none but this one, or of a batch's item. */
  callBytes: number;
  /** Values, keys and escaped characters of one call together. */
  callValues: number;
}>;
