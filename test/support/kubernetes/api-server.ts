import { spawn } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { within } from "#daemon/time.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import { findProgram } from "../find-program.ts";
import { createClusterClient, type ClusterClient } from "./cluster-client.ts";

/** A Kubernetes API server with only its store: pods don't run, but every permission and every field is checked. */
export type ApiServer = ClusterClient &
  AsyncDisposable &
  Readonly<{
    url: string;
    /** The directory mounted into a pod of that account: token, namespace and ca.crt. */
    accountDirectory: (namespace: string, account: string) => Promise<string>;
    /** A kubeconfig of the administrator, with one context: `test`. */
    kubeconfig: string;
    /** The cluster as accessed by that account. */
    as: (namespace: string, account: string) => Promise<ClusterClient>;
  }>;

const programs = ["etcd", "kube-apiserver"] as const;
const startDeadlineMs = 60_000;
const endDeadlineMs = 30_000;

/**
 * Max time for a test's setup with an API server: more than all its deadlines, because an aborted hook leaves it
 * running.
 */
export const preparationMs = 240_000;

/** Explains why tests can't have an API server here; undefined if they can. Shown in the names of skipped tests. */
export function explainMissingApiServer(): string | undefined {
  const lacking = programs.filter((program) => findProgram(program) === undefined);
  if (lacking.length === 0) return undefined;
  return `no ${lacking.join(" and no ")} on PATH; the release archives of Kubernetes and of etcd have them`;
}

/** Starts an API server on free loopback ports, with the RBAC authorizer and the default admission plugins. */
export async function startApiServer(): Promise<ApiServer> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-api-server-"));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const [etcdPort = 0, peerPort = 0, port = 0] = await findFreePorts(3);
  const token = randomUUID();
  await writeKeys(directory, token);
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const etcdUrls = [`--listen-client-urls=${etcd}`, `--advertise-client-urls=${etcd}`, `--listen-peer-urls=${peer}`];
  const fresh = [`--initial-advertise-peer-urls=${peer}`, `--initial-cluster=default=${peer}`, "--unsafe-no-fsync"];
  resources.use(run("etcd", [...etcdUrls, ...fresh, `--data-dir=${join(directory, "etcd")}`], directory));
  resources.use(run("kube-apiserver", buildApiServerOptions({ etcd, port, directory }), directory));
  const url = `https://127.0.0.1:${port}`;
  // The server signs its own certificate when it starts.
  const ca = await until("the API server has a certificate", startDeadlineMs, async () => {
    const text = await readFile(join(directory, "apiserver.crt"), "utf8");
    // Its own certificate and its issuer's; a partly written file has fewer.
    return text.split("END CERTIFICATE").length > 2 ? text : undefined;
  });
  const client = resources.use(createClusterClient({ url, token, ca }));
  await until(
    "the API server is ready",
    startDeadlineMs,
    async () => (await client.ask("GET", "/readyz")).status === 200,
  );
  const kubeconfig = join(directory, "kubeconfig");
  await writeFile(kubeconfig, JSON.stringify(describeAccess({ url, token, ca })));
  const running = resources.move();
  const requestToken = async (namespace: string, account: string): Promise<string> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { body } = await client.ask("POST", path, request);
    return (body as { status: { token: string } }).status.token;
  };
  return {
    ...client,
    url,
    kubeconfig,
    as: async (namespace, account) =>
      running.use(createClusterClient({ url, token: await requestToken(namespace, account), ca })),
    accountDirectory: async (namespace, account) => {
      const own = await mkdtemp(join(directory, "account-"));
      await writeFile(join(own, "token"), await requestToken(namespace, account));
      await writeFile(join(own, "namespace"), namespace);
      await writeFile(join(own, "ca.crt"), ca);
      return own;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function describeAccess({ url, token, ca }: Readonly<{ url: string; token: string; ca: string }>): object {
  const cluster = { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
    "current-context": "test",
  };
}

async function writeKeys(directory: string, token: string): Promise<void> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  await writeFile(join(directory, "account.key"), privateKey.export({ type: "pkcs1", format: "pem" }));
  await writeFile(join(directory, "tokens.csv"), `${token},admin,admin,"system:masters"\n`);
}

function buildApiServerOptions({
  etcd,
  port,
  directory,
}: Readonly<{ etcd: string; port: number; directory: string }>): readonly string[] {
  const key = join(directory, "account.key");
  return [
    `--etcd-servers=${etcd}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${directory}`,
    "--authorization-mode=RBAC",
    `--token-auth-file=${join(directory, "tokens.csv")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    "--service-cluster-ip-range=10.250.0.0/24",
  ];
}

function run(program: (typeof programs)[number], options: readonly string[], directory: string): AsyncDisposable {
  const path = findProgram(program);
  if (path === undefined) throw new Error(explainMissingApiServer());
  const log = openSync(join(directory, `${program}.log`), "w");
  const child = spawn(path, options, { cwd: directory, stdio: ["ignore", log, log] });
  const exited = once(child, "exit");
  return {
    [Symbol.asyncDispose]: async () => {
      // The server's data is deleted afterwards, so it need not exit cleanly.
      child.kill("SIGKILL");
      await within(`the end of ${program}`, endDeadlineMs, exited);
    },
  };
}
