import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { runDoctor, listFindings } from "../../cli/doctor/testing/doctored.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const why = hasOpenssl ? "" : " (skipped: no openssl on PATH)";
const dayMs = 86_400_000;

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A server with a self-signed certificate for `localhost`; returns its URL, and the certificate. */
async function startTls(days: number) {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-tls-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["-keyout", keyFile, "-out", certFile, "-days", String(days), "-subj", "/CN=localhost"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
  await promisify(execFile)("openssl", ["req", "-x509", ...kind, ...made, "-addext", "subjectAltName=DNS:localhost"]);
  const [key, cert] = await Promise.all([readFile(keyFile, "utf8"), readFile(certFile, "utf8")]);
  const server = createTlsServer({ key, cert }, (socket) => socket.on("error", () => socket.destroy()));
  return { url: `https://localhost:${await listening(server)}`, cert };
}

/** Trusts one more authority, as NODE_EXTRA_CA_CERTS does, until the test has ended. */
function trust(cert: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

async function look(url: string, laterDays = 0) {
  const run = await runDoctor({ publicUrls: [url] }, () => Date.now() + laterDays * dayMs);
  return listFindings(run, "certificate");
}

test.skipIf(!hasOpenssl)(
  `a certificate is right while it is trusted, named and good for three weeks, and wrong after${why}`,
  async () => {
    const { url, cert } = await startTls(60);
    expect(await look(url)).toEqual([expect.stringMatching(/^wrong: clients do not trust .*SELF_SIGNED/)]);
    trust(cert);
    expect(await look(url)).toEqual(["right: its certificate holds for 59 days"]);
    expect(await look(url, 38)).toEqual(["right: its certificate holds for 21 days"]);
    expect(await look(url, 39)).toEqual([expect.stringMatching(/^wrong: its certificate ends on \S+, in 20 days; /)]);
    expect(await look(url, 61)).toEqual([expect.stringMatching(/^wrong: its certificate ended on \S+, and no client/)]);
    expect(await look(url, -2)).toEqual([expect.stringMatching(/^wrong: its certificate begins on \S+ only/)]);
    expect(await look(url.replace("localhost", "127.0.0.1"))).toEqual([
      expect.stringMatching(/^wrong: its certificate is for DNS:localhost, not for 127\.0\.0\.1:\d+; /),
    ]);
  },
);

test("a server that shows no certificate is not known; nobody named is not asked", async () => {
  const plain = await listening(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  expect(await look(`https://localhost:${plain}`)).toEqual([
    expect.stringMatching(/^unknown: https:\/\/localhost:\d+ shows no certificate \(\S+.*\); is it reached from here/),
  ]);
  expect(listFindings(await runDoctor({}), "certificate")).toEqual([
    expect.stringMatching(/^unasked: nobody named one; --public/),
  ]);
});

/** The variables of a resource server whose clients come in there. */
const sellerAt = (publicUrl: string) => ({
  GATEHOUSE_RESOURCE_SERVER_PUBLIC_URL: publicUrl,
  GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: "routes.json5",
  GATEHOUSE_RESOURCE_SERVER_PAY_TO: `0x${"33".repeat(20)}`,
  GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: `0x${"22".repeat(20)}`,
  GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "http://127.0.0.1:1",
});

test("the public URL of a resource server's settings is looked at; a local one has no certificate", async () => {
  const https = listFindings(await runDoctor({ env: sellerAt("https://127.0.0.1:1") }), "certificate");
  expect(https).toEqual([expect.stringContaining("unknown: https://127.0.0.1:1 shows no certificate (ECONNREFUSED)")]);
  const http = listFindings(await runDoctor({ env: sellerAt("http://127.0.0.1:1") }), "certificate");
  expect(http).toEqual([expect.stringMatching(/^unasked: /)]);
});
