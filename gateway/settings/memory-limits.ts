import { derived } from "#daemon/settings/fixed.ts";
import { bytes } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/section.ts";

/** Limits on the memory used for clients. */
export const memorySection = section({
  totalBytes: bytes
    .optional()
    .describe(
      "Max bytes buffered for all clients and in the cache, at most half for one address (IPv6: /64) and a quarter for one connection; default: a quarter of the process's memory limit or of its heap limit, whichever is less, at most 1 GiB",
    ),
  addressBytes: derived(),
  connectionBytes: derived(),
});
