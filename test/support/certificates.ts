import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** Suffix for the names of tests that need openssl; empty if it is installed. */
export const withoutOpenssl = hasOpenssl ? "" : " (skipped: no openssl on PATH)";

/** A certificate for `localhost` and 127.0.0.1 with its key, as PEM and as files. */
export type Certificate = Readonly<{ keyFile: string; certFile: string; key: string; cert: string }>;

export type CertificateMaker = AsyncDisposable &
  Readonly<{
    make: (days: number, issuer?: Certificate) => Promise<Certificate>;
  }>;

export async function createCertificateIssuer(): Promise<CertificateMaker> {
  const all = await mkdtemp(join(tmpdir(), "gatehouse-tls-"));
  return {
    make: async (days, issuer) => {
      const folder = await mkdtemp(join(all, "certificate-"));
      const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
      const [request, extensions] = [join(folder, "request.pem"), join(folder, "extensions")];
      await writeFile(extensions, "basicConstraints=critical,CA:TRUE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n");
      const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
      const subject = ["-subj", `/CN=${basename(folder)}`];
      await run("openssl", ["req", "-new", ...kind, ...subject, "-keyout", keyFile, "-out", request]);
      const signer = issuer === undefined ? ["-signkey", keyFile] : ["-CA", issuer.certFile, "-CAkey", issuer.keyFile];
      const made = ["-days", String(days), "-extfile", extensions, "-set_serial", String(Date.now()), "-out", certFile];
      await run("openssl", ["x509", "-req", "-in", request, ...signer, ...made]);
      const [key, cert] = await Promise.all([readFile(keyFile, "utf8"), readFile(certFile, "utf8")]);
      return { keyFile, certFile, key, cert };
    },
    [Symbol.asyncDispose]: () => rm(all, { recursive: true }),
  };
}
