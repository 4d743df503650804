import { open, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";

type Output = Readonly<{ write(data: string | Uint8Array): unknown }>;

/** Disposal removes a newly created file that received no body. */
export type BodyTarget = AsyncDisposable &
  Readonly<{
    /** Writes the whole body. Returns a message for the user if the body went to stdout because the file could not be written. */
    write(body: Uint8Array): Promise<string | undefined>;
  }>;

/** The output file can't be written; detected before any payment. */
export class BodyTargetError extends Error {
  override readonly name = "BodyTargetError";
  readonly code = "output_unwritable";
}

export function createStdoutTarget(stdout: Output): BodyTarget {
  return {
    write: async (body) => void stdout.write(body),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Keeps an existing file until the body arrives. If writing the body fails, it goes to `stdout`: it is already paid for. */
export async function openFileTarget(path: string, stdout: Output): Promise<BodyTarget> {
  let isEmpty = !existsSync(path);
  try {
    await (await open(path, "a")).close();
  } catch (error) {
    throw new BodyTargetError(`-o ${path} can't be written (${(error as NodeJS.ErrnoException).code}).`, {
      cause: error,
    });
  }
  return {
    async write(body) {
      try {
        isEmpty = false;
        await writeFile(path, body);
        return undefined;
      } catch (error) {
        stdout.write(body);
        return `the body could not be written to ${path} (${(error as NodeJS.ErrnoException).code}); it is on stdout.`;
      }
    },
    async [Symbol.asyncDispose]() {
      if (isEmpty) await rm(path, { force: true });
    },
  };
}
