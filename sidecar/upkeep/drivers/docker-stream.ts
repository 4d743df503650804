/** What a program in a container wrote. */
export type ContainerOutput = Readonly<{ output: string; errors: string }>;

const headerBytes = 8;
const standardError = 2;

/**
 * Takes the engine's multiplexed stream apart: frames of one byte for the stream (1 output, 2 errors), three zero bytes, the
 * length as four bytes, big endian, and the content (Docker Engine API, "Attach to a container", stream format). A frame that is
 * cut off counts as far as it came.
 */
export function standardOutput(bytes: Uint8Array): ContainerOutput {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: Record<"output" | "errors", Uint8Array[]> = { output: [], errors: [] };
  let offset = 0;
  while (offset + headerBytes <= bytes.length) {
    const end = offset + headerBytes + view.getUint32(offset + 4);
    const target = bytes[offset] === standardError ? "errors" : "output";
    chunks[target].push(bytes.subarray(offset + headerBytes, end));
    offset = end;
  }
  return {
    output: Buffer.concat(chunks.output).toString("utf8"),
    errors: Buffer.concat(chunks.errors).toString("utf8"),
  };
}
