import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { pino } from "pino";
import { createOutputFiles, type OutputFiles } from "../programs/output-files.ts";

/** Stores programs' output in a directory of its own, which is deleted on dispose. */
export async function keepProgramOutput(): Promise<OutputFiles & Readonly<{ directory: string }>> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-output-"));
  const deadline = { call: <T>(_: string, call: () => Promise<T>) => call() };
  const files = createOutputFiles(directory, { deadline, log: pino({ level: "silent" }) });
  return {
    directory,
    open: files.open,
    [Symbol.asyncDispose]: async () => {
      await files[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}
