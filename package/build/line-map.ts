import { decode, encode } from "@jridgewell/sourcemap-codec";

type SourceMap = Readonly<{ mappings: string }>;

/**
 * A source map that has lines and no columns: a quarter of the size, and a trace leads to the line by it, which is what it is in the package for.
 *
 * @param json the map as the compiler wrote it.
 */
export function writeLineMap(json: string): string {
  const map = JSON.parse(json) as SourceMap;
  const lines = decode(map.mappings).map((segments) =>
    segments.filter(([, , line], index) => index === 0 || line !== segments[index - 1]?.[2]),
  );
  return JSON.stringify({ ...map, mappings: encode(lines) });
}
