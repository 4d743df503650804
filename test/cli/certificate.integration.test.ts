import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { runDoctor, listFindings } from "../../cli/doctor/testing/doctored.ts";

const run = promisify(execFile);
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const why = hasOpenssl ? "" : " (skipped: no openssl on PATH)";
const dayMs = 86_400_000;

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

type Certificate = Readonly<{ keyFile: string; certFile: string; key: string; cert: string }>;

/** Makes a certificate for `localhost` that ends in so many days, signed by an issuer or by itself. */
async function makeCertificate(days: number, issuer?: Certificate): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-tls-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const [request, extensions] = [join(folder, "request.pem"), join(folder, "extensions")];
  await writeFile(extensions, "basicConstraints=critical,CA:TRUE\nsubjectAltName=DNS:localhost\n");
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
  await run("openssl", [
    "req",
    "-new",
    ...kind,
    "-subj",
    `/CN=${basename(folder)}`,
    "-keyout",
    keyFile,
    "-out",
    request,
  ]);
  const signer = issuer === undefined ? ["-signkey", keyFile] : ["-CA", issuer.certFile, "-CAkey", issuer.keyFile];
  const made = ["-days", String(days), "-extfile", extensions, "-set_serial", String(Date.now()), "-out", certFile];
  await run("openssl", ["x509", "-req", "-in", request, ...signer, ...made]);
  const [key, cert] = await Promise.all([readFile(keyFile, "utf8"), readFile(certFile, "utf8")]);
  return { keyFile, certFile, key, cert };
}

/** A server that shows certificates, its own first; returns its URL. */
async function serveTls([own, ...above]: readonly [Certificate, ...Certificate[]]): Promise<string> {
  const chain = [own, ...above].map(({ cert }) => cert).join("");
  const server = createTlsServer({ key: own.key, cert: chain }, (socket) => socket.on("error", () => socket.destroy()));
  return `https://localhost:${await listening(server)}`;
}

/** Trusts one more authority, as NODE_EXTRA_CA_CERTS does, until the test has ended. */
function trust(cert: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

async function look(url: string, laterDays = 0) {
  const doctored = await runDoctor({ publicUrls: [url] }, () => Date.now() + laterDays * dayMs);
  return listFindings(doctored, "certificate");
}

test.skipIf(!hasOpenssl)(
  `a certificate is right while it is trusted, named and good for three weeks, and wrong after${why}`,
  async () => {
    const own = await makeCertificate(60);
    const url = await serveTls([own]);
    expect(await look(url)).toEqual([expect.stringMatching(/^wrong: clients do not trust .*SELF_SIGNED/)]);
    trust(own.cert);
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

test.skipIf(!hasOpenssl)(`a chain is as good as each of its certificates${why}`, async () => {
  const root = await makeCertificate(60);
  const [issuer, ended] = [await makeCertificate(60, root), await makeCertificate(-1, root)];
  trust(root.cert);
  expect(await look(await serveTls([await makeCertificate(60, issuer), issuer]))).toEqual([
    "right: its certificate holds for 59 days",
  ]);
  expect(await look(await serveTls([await makeCertificate(60, ended), ended]))).toEqual([
    expect.stringMatching(/^wrong: clients do not trust who signed .* out of its time \(CERT_HAS_EXPIRED\); send the/),
  ]);
  expect(await look(await serveTls([await makeCertificate(-1, issuer), issuer]))).toEqual([
    expect.stringMatching(/^wrong: its certificate ended on \S+, and no client connects/),
  ]);
});

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
