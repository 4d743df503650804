import { isUtf8 } from "node:buffer";

/** A position in bytes: line and column from 1, as in editors. */
type BytePosition = Readonly<{ line: number; column: number }>;

/** The first byte that is not UTF-8. Its message is a phrase for use within a sentence. */
export class NotUtf8Error extends Error {
  override readonly name = "NotUtf8Error";
  readonly position: BytePosition;
  readonly offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    const position = locateByte(bytes, offset);
    super(`line ${position.line}, byte offset ${offset}, is not UTF-8; save the file as UTF-8`);
    this.position = position;
    this.offset = offset;
  }
}

/**
 * Decodes UTF-8, with its byte order mark if it has one. Other decoders silently replace what is not UTF-8.
 *
 * @throws {NotUtf8Error}
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = toBuffer(bytes).toString("utf8");
  if (isUtf8(bytes)) return text;
  const encoded = Buffer.from(text);
  let offset = bytes.findIndex((byte, at) => byte !== encoded[at]);
  if (offset === -1) offset = bytes.length;
  // A character that ends too early may share its first bytes with the replacement character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  throw new NotUtf8Error(bytes, offset);
}

/** Finds the position of a byte; those before it must be UTF-8. */
export function locateByte(bytes: Uint8Array, offset: number): BytePosition {
  const lines = toBuffer(bytes).toString("utf8", 0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
