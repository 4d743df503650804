import { bytes } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** Limits on the memory used for clients. */
export const memorySection = section({
  totalBytes: bytes
    .optional()
    .describe(
      "Max bytes buffered for all clients and in the cache; default: a quarter of the process's memory limit or of its heap limit, whichever is less, at most 1 GiB",
    ),
  addressBytes: bytes
    .optional()
    .describe("Max bytes buffered per client address (IPv6: /64); default: half of memory.totalBytes"),
  connectionBytes: bytes
    .optional()
    .describe("Max bytes buffered per connection; default: a quarter of memory.totalBytes"),
});
