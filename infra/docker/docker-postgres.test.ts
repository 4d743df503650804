import { beforeAll, describe, expect, it } from "vitest";
import { runtime } from "@pulumi/pulumi";
import { findContainer, listContainers, recordStack } from "../testing/deployed-stack.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { devnet, onDocker } from "../testing/stack-configs.ts";

const password = "hidden-password-of-the-ledgers";
const image = `postgres:17-bookworm@sha256:${"b".repeat(64)}`;
const config = { ...onDocker, ...devnet, postgresImage: image, postgresPassword: password };
let recorded: readonly Recorded[] = [];

const containers = () => listContainers(recorded);
const container = (name: string) => findContainer(recorded, name);
const volumes = () => recorded.filter(({ type }) => type === "docker:index/volume:Volume").map(({ name }) => name);

type Uploads = Readonly<{ value: readonly Readonly<{ file: string; content: string }>[] }>;

function uploaded(service: string, file: string): string | undefined {
  const uploads = container(`${service}-files`)["uploads"] as Uploads & Record<string, unknown>;
  expect(uploads[runtime.specialSigKey]).toBe(runtime.specialSecretSig);
  return uploads.value.find((upload) => upload.file.endsWith(`/${file}`))?.content;
}

describe("a stack's own PostgreSQL server on Docker", () => {
  beforeAll(async () => {
    recorded = await recordStack(config, { preview: false });
  });

  it("runs confined as its own user, with a read-only root file system", () => {
    expect(container("postgres")).toMatchObject({
      image,
      user: "999:10001",
      readOnly: true,
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      volumes: [
        { volumeName: "gh-postgres-data", containerPath: "/var/lib/postgresql", readOnly: false },
        { volumeName: "gh-postgres-files", containerPath: "/run/gatehouse/files", readOnly: true },
      ],
      memory: 512,
    });
    expect(Object.keys(container("postgres")["tmpfs"] as object)).toEqual(["/tmp", "/var/run/postgresql"]);
    expect(container("postgres-files")).toMatchObject({ user: "999:10001", networkMode: "none" });
  });

  it("is reachable only on the private network", () => {
    expect(container("postgres")["networksAdvanced"]).toEqual([{ name: "gh-private", aliases: ["postgres"] }]);
    expect(container("postgres")["ports"]).toEqual([]);
  });

  it("is waited for until it accepts connections, and is stopped with SIGINT", () => {
    expect(container("postgres")).toMatchObject({
      healthcheck: { tests: ["CMD", "pg_isready", "--quiet", "--host=127.0.0.1", "--port=5432"] },
      wait: true,
      waitTimeout: 120,
      restart: "unless-stopped",
      stopSignal: "SIGINT",
      stopTimeout: 60,
      destroyGraceSeconds: 60,
    });
  });

  it("stores both ledgers, which then have no volumes", () => {
    expect(volumes()).toContain("gh-postgres-data");
    expect(volumes().filter((name) => name.includes("ledger"))).toEqual([]);
    for (const [service, variable] of [
      ["facilitator", "GATEHOUSE_FACILITATOR_LEDGER_URL_FILE"],
      ["resource-server", "GATEHOUSE_RESOURCE_SERVER_LEDGER_URL_FILE"],
    ] as const) {
      expect(container(service)["envs"]).toContain(`${variable}=/run/gatehouse/files/ledger-url`);
      expect(uploaded(service, "ledger-url")).toBe(`postgresql://gatehouse:${password}@postgres:5432/gatehouse`);
    }
  });

  it("receives its password as a file and exposes it nowhere else", () => {
    expect(container("postgres")["envs"]).toContain("POSTGRES_PASSWORD_FILE=/run/gatehouse/files/postgres-password");
    expect(uploaded("postgres", "postgres-password")).toBe(password);
    const shown = containers().map(({ inputs }) => [
      inputs["envs"],
      inputs["command"],
      inputs["labels"],
      inputs["healthcheck"],
    ]);
    expect(JSON.stringify(shown)).not.toContain(password);
  });
});

describe("an external database on Docker", () => {
  it("attaches the facilitator to the edge network and creates no PostgreSQL container", async () => {
    const databaseUrl = "postgresql://gatehouse:secret@db.example/gatehouse";
    recorded = await recordStack(
      { ...config, postgresImage: "", postgresPassword: "", databaseUrl },
      { preview: false },
    );
    expect(container("facilitator")["networksAdvanced"]).toMatchObject([{ name: "gh-edge" }, { name: "gh-private" }]);
    expect(containers().map(({ name }) => name)).not.toContain("gh-postgres");
  });
});
