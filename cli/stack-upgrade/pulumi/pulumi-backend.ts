import { hash } from "node:crypto";
import { z } from "zod";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** A backend of Pulumi as it may be kept and printed: its address may hold a password. */
export const pulumiBackend = z.object({
  /** The address without user and options. */
  shown: z.string(),
  /** Hash of what distinguishes it from another one. */
  sha256: z.string(),
});

export type PulumiBackend = Readonly<z.output<typeof pulumiBackend>>;

/** A directory's address, which holds no user. */
const directoryAddress = /^file:\/\/[^@/]*(?:\/.*)?$/;

/**
 * Finds what a backend is known by. Of a Pulumi Cloud that is the origin alone, as Pulumi adds the page of whoever is logged in; of another one the
 * address without its password, which may change while the database stays the same. Pure.
 */
export function identifyBackend(address: string): PulumiBackend {
  const url = URL.parse(address);
  if (url !== null && isCloud(address)) return { shown: url.origin, sha256: hash("sha256", url.origin) };
  const shown = shorten(address, url);
  if (url !== null) url.password = "";
  return { shown, sha256: hash("sha256", url?.href ?? address) };
}

/** Says that Pulumi is logged in to another backend than the one that is needed, and what to do. Pure. */
export function explainOtherBackend(needed: PulumiBackend, found: PulumiBackend): string {
  const other = found.shown === needed.shown ? "the same with another user or other options" : found.shown;
  return `it was begun over ${needed.shown}, and Pulumi is logged in to ${other}: ${formatLogin(needed)}`;
}

function formatLogin({ shown }: PulumiBackend): string {
  if (isCloud(shown)) return `log in to the Pulumi Cloud of ${shown}`;
  if (directoryAddress.test(shown)) return `pulumi login ${quoteShellWord(shown)}`;
  return "log in to it with pulumi login, or set PULUMI_BACKEND_URL";
}

function isCloud(address: string): boolean {
  return /^https?:/i.test(address);
}

function shorten(address: string, url: URL | null): string {
  if (directoryAddress.test(address)) return address;
  // Of what can't be taken apart any piece may be the password.
  if (url === null) return `${/^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(address)?.[0] ?? "unknown"}:…`;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
