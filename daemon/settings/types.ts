import { isIP } from "node:net";
import { z } from "zod";
import { isShellPath, shellPathAdvice } from "../files/shell-path.ts";
import { Secret } from "../secrets/secret.ts";

/**
 * Schemas shared by settings. Each has `expected`, the wording for messages about an invalid value; the setting's name includes the unit of
 * sizes and times (`…Bytes`, `…Ms`, `…Seconds`).
 */

/** A boolean: a flag in a settings file, `true` or `false` in the environment. */
export const yesOrNo = z.boolean().meta({ expected: "true or false" });

/** A TCP port; 0 lets the operating system choose a free one. */
export const port = z.int().min(0).max(65_535).meta({ expected: "a port number from 0 to 65535 (0: any free port)" });

/** An address to listen on. */
export const host = z
  .string()
  .min(1)
  .refine((text) => isIP(text) !== 0 || /^[^\s:/[\]]+$/.test(text), {
    error: ({ input }) => adviseOnHost(String(input)),
  })
  .meta({ expected: "an IP address or host name to listen on" });

function adviseOnHost(text: string): string {
  const address = text.replace(/^\[(.*)\]$/, "$1");
  if (address !== text && isIP(address) === 6) return `an IPv6 address has no brackets here; write ${address}`;
  return "expected an IP address or host name to listen on, without a port";
}

/** Host names that clients may use to query an operator's listener; see `address.ts`. */
export const allowedHosts = z
  .array(z.string().min(1).max(253))
  .max(64)
  .default([])
  .describe(
    "Host names (without port) allowed in a request's Host header, besides IP addresses and localhost; empty allows any, except on loopback, where no others are allowed (DNS rebinding)",
  )
  .meta({ expected: "up to 64 host names, separated by commas" });

/** A whole number greater than zero. */
export const positiveInteger = z.int().min(1).meta({ expected: "a whole number, 1 or more" });

/** A whole number, zero or more. */
export const nonNegativeInteger = z.int().min(0).meta({ expected: "a whole number, 0 or more" });

/** A time in milliseconds, at most a day. */
export const milliseconds = z
  .int()
  .min(1)
  .max(86_400_000)
  .meta({ expected: "milliseconds, a whole number from 1 to 86400000" });

/** A duration in whole seconds, at most one day. */
export const seconds = z.int().min(1).max(86_400).meta({ expected: "seconds, a whole number from 1 to 86400" });

/** A size in bytes. */
export const bytes = z.int().min(1).meta({ expected: "a number of bytes, 1 or more" });

/** A file system path, resolved against the working directory if relative. */
export const filePath = z
  .string()
  .min(1)
  .refine((path) => !isShellPath(path), { error: shellPathAdvice })
  .meta({ expected: "a file system path" });

/** An `http:` or `https:` URL. */
export const httpUrl = createUrlSchema(/^https?$/, "an http:// or https:// URL");

/** A `ws:` or `wss:` URL. */
export const webSocketUrl = createUrlSchema(/^wss?$/, "a ws:// or wss:// URL");

/** A secp256k1 private key: 32 bytes in hexadecimal, with or without 0x, as wallets export it; the parsed value has the 0x. Wrap it in `secret()`. */
export const privateKey = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/)
  .overwrite((key) => (key.startsWith("0x") ? key : `0x${key}`))
  .meta({ expected: "a private key: 64 hexadecimal digits (0x optional)" });

/** Bytes in hexadecimal. */
export const hexBytes = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2})+$/)
  .meta({ expected: "bytes in hexadecimal after 0x" });

/** Secret private keys, at most 32, one per line or separated by commas; parsed to one {@link Secret} each, so that each is masked. */
export const privateKeys = z
  .string()
  .regex(/^[\s,]*(0x)?[0-9a-fA-F]{64}([\s,]+(0x)?[0-9a-fA-F]{64}){0,31}[\s,]*$/)
  .transform((text) => (text.match(/[0-9a-fA-F]{64}/g) ?? []).map((key) => new Secret(`0x${key}`)))
  .meta({ secret: true, expected: "private keys of 64 hexadecimal digits each (0x optional), one per line" });

/** An EIP-155 chain id. */
export const chainId = positiveInteger.meta({ expected: "an EIP-155 chain id, a whole number, 1 or more" });

/** Also describes the expected value in messages about files, which don't use `meta`. */
function createUrlSchema(protocol: RegExp, expected: string) {
  const error: z.core.$ZodErrorMap = ({ code }) => (code === "invalid_format" ? `expected ${expected}` : undefined);
  return z.url({ protocol, error }).meta({ expected });
}
