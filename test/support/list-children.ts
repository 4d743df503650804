import { readFile } from "node:fs/promises";

export async function listChildren(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").flatMap((one) => (one.trim() === "" ? [] : [Number(one)]));
}
