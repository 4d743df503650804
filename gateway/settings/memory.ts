import { bytes } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** Limits of the memory used for clients. */
export const memorySection = section({
  totalBytes: bytes
    .optional()
    .describe(
      "Bytes held for all clients and in the cache; default: a quarter of the memory that the process may use or a quarter of its heap's limit, whichever is less, at most 1 GiB",
    ),
  addressBytes: bytes
    .optional()
    .describe("Bytes held for the clients of one address (IPv6: one /64); default: half of memory.totalBytes"),
  connectionBytes: bytes.optional().describe("Bytes held for one connection; default: a quarter of memory.totalBytes"),
});
