import { hash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { FileReading } from "#daemon/files/watched-file.ts";
import { describeFileIssues } from "#daemon/settings/describe-issue.ts";
import { apiKeyHolder, apiKeyFields } from "../settings/api-keys.ts";

const keyFile = z.strictObject({ keys: z.array(z.strictObject({ name: apiKeyHolder, ...apiKeyFields })).max(100_000) });

export type KeyHolder = Readonly<{ name: string; tier: string }>;

export type ApiKeys = Readonly<{ holderOf: (key: string) => KeyHolder | undefined }>;

/** Reads the content of a key file. No reported problem contains a hash. */
export function readApiKeys(content: unknown): FileReading<ApiKeys> {
  const parsed = keyFile.safeParse(content);
  if (!parsed.success) return { ok: false, problems: describeFileIssues(parsed.error.issues) };
  const byStart = new Map<string, { hash: Buffer; holder: KeyHolder }>();
  for (const { name, sha256, tier } of parsed.data.keys) {
    byStart.set(sha256.slice(0, lookupDigits), { hash: Buffer.from(sha256, "hex"), holder: { name, tier } });
  }
  if (byStart.size !== parsed.data.keys.length) {
    return { ok: false, problems: ["keys: two entries have the same hash; remove one of them."] };
  }
  const holderOf = (key: string) => {
    const digest = hash("sha256", key, "buffer");
    const found = byStart.get(digest.toString("hex").slice(0, lookupDigits));
    return found !== undefined && timingSafeEqual(found.hash, digest) ? found.holder : undefined;
  };
  return { ok: true, value: { holderOf } };
}

/**
 * Number of hash digits used as the lookup key. Lookup time depends only on the hash of the client's input, so it reveals no key; the
 * remaining digits are compared in constant time.
 */
const lookupDigits = 32;
