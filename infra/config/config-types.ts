import { z } from "zod";

/** Schemas shared by several keys of a stack; `expected` is the wording in the error message for an invalid value. */

export const text = (expected: string) => z.string().min(1).meta({ expected });

/** Name of a Kubernetes namespace. */
export const namespace = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

export const imageReference = text("an image reference such as registry.example/node:0.16.2@sha256:…");
