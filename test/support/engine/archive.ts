const blockBytes = 512;

export type ArchivedFile = Readonly<{ path: string; mode: number; content: string }>;

export function buildArchive(files: readonly ArchivedFile[]): Buffer {
  return Buffer.concat([
    ...files.flatMap(({ path, mode, content }) => {
      const bytes = Buffer.from(content);
      const padding = Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes);
      return [buildHeader(path, mode, bytes.length), bytes, padding];
    }),
    Buffer.alloc(2 * blockBytes),
  ]);
}

function buildHeader(path: string, mode: number, size: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for a ustar header`);
  block.write(path, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write("        0", 148);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}
