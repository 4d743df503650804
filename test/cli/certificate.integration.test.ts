import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { runDoctor, listFindings } from "../../cli/doctor/testing/doctored.ts";
import {
  createCertificateMaker,
  hasOpenssl,
  serveTls,
  withoutOpenssl,
  type Certificate,
  type CertificateMaker,
} from "../support/certificates.ts";

const dayMs = 86_400_000;

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Makes certificates that are gone with the test. */
async function certificates(): Promise<CertificateMaker> {
  const maker = await createCertificateMaker();
  onTestFinished(() => maker[Symbol.asyncDispose]());
  return maker;
}

/** A server that shows certificates until the test has ended, its own first; returns its URL. */
async function show(...chain: readonly [Certificate, ...Certificate[]]): Promise<string> {
  const server = await serveTls(chain);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.url;
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
  `a certificate is right while it is trusted, named and good for three weeks, and wrong after${withoutOpenssl}`,
  async () => {
    const { make } = await certificates();
    const own = await make(60);
    const url = await show(own);
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

test.skipIf(!hasOpenssl)(`a chain is as good as each of its certificates${withoutOpenssl}`, async () => {
  const { make } = await certificates();
  const root = await make(60);
  const [issuer, ended] = [await make(60, root), await make(-1, root)];
  trust(root.cert);
  expect(await look(await show(await make(60, issuer), issuer))).toEqual(["right: its certificate holds for 59 days"]);
  expect(await look(await show(await make(60, ended), ended))).toEqual([
    expect.stringMatching(/^wrong: clients do not trust who signed .* out of its time \(CERT_HAS_EXPIRED\); send the/),
  ]);
  expect(await look(await show(await make(-1, issuer), issuer))).toEqual([
    expect.stringMatching(/^wrong: its certificate ended on \S+, and no client connects/),
  ]);
});

test("a server that shows no certificate is not known; nobody named is not asked", async () => {
  const plain = await listening(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  expect(await look(`https://localhost:${plain}`)).toEqual([
    expect.stringMatching(/^unknown: https:\/\/localhost:\d+ shows no certificate \(\S+.*\); is it reached from here/),
  ]);
  expect(listFindings(await runDoctor({}), "certificate")).toEqual([
    expect.stringMatching(/^skipped: nobody named one; --public/),
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
  expect(http).toEqual([expect.stringMatching(/^skipped: /)]);
});
