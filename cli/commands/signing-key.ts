import { explainUnreadable, readNamedText } from "#daemon/files/regular-file.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { Secret, secret } from "#daemon/secrets/secret.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { section } from "#daemon/settings/section.ts";
import { defineSettings, readSettings } from "#daemon/settings/settings.ts";
import { httpUrl, privateKey } from "#daemon/settings/types.ts";

/** Settings that `gatehouse pay` reads from the environment, because any process can read a key given on the command line. */
const paySettings = defineSettings("pay", [], {
  signer: section({ privateKey: secret(privateKey).optional().describe("Private key of the paying account") }),
  chain: section({ rpcUrl: httpUrl.optional().describe("JSON-RPC endpoint of the chain") }),
});

/** Settings that `gatehouse ledger refund` reads from the environment, besides the facilitator's. */
const refundSettings = defineSettings("refund", [], {
  signer: section({ privateKey: secret(privateKey).optional().describe("Private key of the payee") }),
});

/** Max bytes read from a key file; no key is longer. */
const keyBytes = 65_536;

export function readPayerSettings(keyFile: string | undefined, { mask }: Readonly<{ mask: Mask }>) {
  const { signer, chain } = readSettings(paySettings, { env: process.env });
  mask.hide(chain);
  const key = keyFile === undefined ? signer.privateKey?.reveal() : readKeyFile(keyFile);
  if (key !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(key))
    throw new TypeError(`${keyFile} has no private key: 64 hexadecimal digits, with or without 0x.`);
  if (key !== undefined) mask.hide(new Secret(key));
  const { rpcUrl } = chain;
  return { ...(key === undefined ? {} : { privateKey: key }), ...(rpcUrl === undefined ? {} : { rpcUrl }) };
}

export function readPayeeKey(keyFile: string | undefined, keyVariable: string): Secret {
  const { signer } = readSettings(refundSettings, {
    env: keyFile === undefined ? process.env : { [keyVariable]: readKeyFile(keyFile) },
  });
  if (signer.privateKey !== undefined) return signer.privateKey;
  const message = `no private key of the payee; specify its file with --key-file or ${keyVariable}_FILE.`;
  throw new SettingsError("refund", [{ name: keyVariable, message }]);
}

/** Reads a private key from a file, with or without its 0x. */
function readKeyFile(path: string): string {
  try {
    return readNamedText(path, keyBytes)
      .trim()
      .replace(/^(?!0x)/, "0x");
  } catch (cause) {
    const message = `${path} can't be read (${explainUnreadable(cause)}); expected a file with a private key.`;
    throw new StartupError(message, { cause });
  }
}
