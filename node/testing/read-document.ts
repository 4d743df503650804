import { parseConfig, type ConfigDocument } from "../conf/document.ts";

/** Reads a node.conf that can be used. @throws {Error} that says why another can't. */
export function readDocument(text: string): ConfigDocument {
  const parsed = parseConfig(Buffer.from(text));
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.document;
}
