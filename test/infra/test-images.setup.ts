import type { TestProject } from "vitest/node";
import { createUniqueName } from "../support/engine/container.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { removeTestImages } from "./test-images.ts";

declare module "vitest" {
  interface ProvidedContext {
    testImagesName: string;
  }
}

/**
 * Names the images shared by the project's tests, which the first test that needs them builds, and removes them afterwards.
 */
export default function setup(project: TestProject): () => Promise<void> {
  const name = createUniqueName("image");
  project.provide("testImagesName", name);
  return async () => {
    if ((await findEngine()).ok) await removeTestImages(name);
  };
}
