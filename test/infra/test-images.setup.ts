import type { TestProject } from "vitest/node";
import { findEngine } from "../support/engine/find-engine.ts";
import { buildTestImages, type TestImages } from "./test-images.ts";

declare module "vitest" {
  interface ProvidedContext {
    testImages: TestImages | undefined;
  }
}

/** Builds the images that the project's tests share, where there is an engine, and removes them afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engine = await findEngine();
  if (!engine.ok) {
    project.provide("testImages", undefined);
    return async () => undefined;
  }
  const { [Symbol.asyncDispose]: remove, ...images } = await buildTestImages(engine.nodeImage);
  project.provide("testImages", images);
  return async () => remove();
}
