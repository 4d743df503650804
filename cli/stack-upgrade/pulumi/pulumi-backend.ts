import { hash } from "node:crypto";
import { z } from "zod";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

/** A Pulumi backend in a form that is safe to store and print; the backend's address may contain a password. */
export const pulumiBackend = z.object({
  /** Address without user and options. */
  shown: z.string(),
  /** Hash of the parts that distinguish it from other backends. */
  sha256: z.string(),
});

export type PulumiBackend = Readonly<z.output<typeof pulumiBackend>>;

/** A directory's address, which contains no user. */
const directoryAddress = /^file:\/\/[^@/]*(?:\/.*)?$/;

/**
 * Identifies a backend. Pulumi Cloud is identified by its origin alone, because Pulumi appends the logged-in user's page; any other backend
 * by its address without the password, which may change for the same database. Pure.
 */
export function identifyBackend(address: string): PulumiBackend {
  const url = URL.parse(address);
  if (url !== null && isCloud(address)) return { shown: url.origin, sha256: hash("sha256", url.origin) };
  const shown = formatShown(address, url);
  if (url !== null) url.password = "";
  return { shown, sha256: hash("sha256", url?.href ?? address) };
}

/** Explains that Pulumi is logged in to the wrong backend, and how to fix it. Pure. */
export function explainBackendMismatch(needed: PulumiBackend, found: PulumiBackend): string {
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

function formatShown(address: string, url: URL | null): string {
  if (directoryAddress.test(address)) return address;
  // Any part of an unparsable address may be the password.
  if (url === null) return `${/^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(address)?.[0] ?? "unknown"}:…`;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
