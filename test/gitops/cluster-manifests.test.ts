import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseConfig } from "#infra/stack-config.ts";
import { signerPrivateKey, toRawConfig } from "#infra/testing/stack-configs.ts";
import { template } from "./workflow.ts";

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.record(z.string(), z.unknown()).default({}),
});
const files = globSync("operator/*.yaml", { cwd: template }).toSorted();
const objects = files.flatMap((file) =>
  parseAllDocuments(readFileSync(join(template, file), "utf8")).map((document) => objectSchema.parse(document.toJS())),
);
const page = readFileSync(join(import.meta.dirname, "../../docs/gitops-clusters.md"), "utf8");

const stackNamed = (name: string) => {
  const found = objects.find(({ kind, metadata }) => kind === "Stack" && metadata.name === name);
  if (found === undefined) throw new Error(`no Stack ${name}`);
  return found.spec;
};

describe("the manifests for Pulumi's Kubernetes operator", () => {
  it("use the kinds of operator 2", () => {
    expect(objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).toSorted()).toEqual([
      "auto.pulumi.com/v1alpha1 Workspace",
      "pulumi.com/v1 Stack",
      "pulumi.com/v1 Stack",
      "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
      "v1 ServiceAccount",
    ]);
  });

  it.each(["gatehouse-production", "gatehouse-production-preview"])(
    "%s has a valid configuration and a pinned commit, and is not destroyed on deletion",
    (name) => {
      const spec = stackNamed(name);
      const config = toRawConfig(spec["config"] as Readonly<Record<string, unknown>>);
      expect(parseConfig({ ...config, signerPrivateKey }).namespace).toBe("gatehouse");
      expect(spec["commit"]).toMatch(/^[0-9a-f]{40}$/);
      expect(spec["branch"]).toBeUndefined();
      expect(spec["destroyOnFinalize"]).toBe(false);
    },
  );

  it("preview the same stack in preview mode", () => {
    const preview = stackNamed("gatehouse-production-preview");
    expect([preview["preview"], preview["stack"]]).toEqual([true, stackNamed("gatehouse-production")["stack"]]);
    expect(stackNamed("gatehouse-production")["preview"]).toBeUndefined();
  });

  it("contain no secret, and pin images by digest", () => {
    const text = files.map((file) => readFileSync(join(template, file), "utf8")).join("\n");
    expect(text).not.toMatch(/PrivateKey: |pul-[0-9a-f]{8}/);
    const images = [...text.matchAll(/[iI]mage: (\S+)/g)].map(([, image = ""]) => image);
    expect(images.filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
  });
});

describe("docs/gitops-clusters.md", () => {
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => parse(text) as unknown);

  it("ignores a changed volume size in Argo CD, and has no annotation patches in Flux", () => {
    const application = blocks.find((block) => objectSchema.safeParse(block).data?.kind === "Application");
    expect(application).toMatchObject({
      spec: {
        ignoreDifferences: [{ name: "node-workspace", jsonPointers: ["/spec/resources/requests/storage"] }],
        syncPolicy: { syncOptions: expect.arrayContaining(["ServerSideApply=true"]) as unknown },
      },
    });
    const kustomization = blocks.find((block) => objectSchema.safeParse(block).data?.kind === "Kustomization");
    // A patch that replaces `/metadata/annotations` would remove the annotations that retain the claim.
    expect((kustomization as { spec: object }).spec).not.toHaveProperty("patches");
  });
});
