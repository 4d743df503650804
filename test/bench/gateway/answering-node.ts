import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { start, type BenchProcess } from "./proxies.ts";

const source = new URL("answering-node.c", import.meta.url).pathname;

/** Sizes of a node's responses: bodies from `leastBytes` to `mostBytes`, evenly on a logarithmic scale. */
export type NodeResponses = Readonly<{
  leastBytes: number;
  mostBytes: number;
  /** `chunked` like long responses of Go's net/http (geth), `length` like hyper (reth, anvil). */
  framing: "length" | "chunked";
}>;

/** Compiles the responder, and returns its path. */
export function buildAnsweringNode(folder: string): string {
  const program = join(folder, "answering-node");
  execFileSync("cc", ["-O2", "-o", program, source, "-lm"], { stdio: "inherit" });
  return program;
}

/** Starts a node that responds to every call with the call's id. */
export function startAnsweringNode(
  program: string,
  port: number,
  { leastBytes, mostBytes, framing }: NodeResponses,
): Promise<BenchProcess> {
  return start(program, [String(port), String(leastBytes), String(mostBytes), framing], port);
}
