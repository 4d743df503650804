import { describe, it } from "vitest";
import { isTyped } from "./command-block.ts";
import { createReader, mayRead } from "./reader.ts";
import { readBlocks, readers } from "./typed-pages.ts";

const why = mayRead
  ? ""
  : " (skipped: this user may not make a network namespace, or unshare, nsenter or ip is missing)";

/** For all pages of one reader, on a busy machine. */
const timeout = 600_000;

describe.skipIf(!mayRead)(`in an empty directory${why}`, () => {
  it.concurrent.each(readers.map((pages) => [pages.join(", "), pages] as const))(
    "runs the commands of %s in order, and gets the documented output",
    { timeout },
    async (_, pages) => {
      await using reader = await createReader();
      for (const block of pages.flatMap(readBlocks).filter(isTyped)) await reader.type(block);
    },
  );
});
