import { z } from "zod";

/** Schemas that several of a stack's keys use; `expected` is the wording of a message about a wrong value. */

/** Text of one character or more. */
export const text = (expected: string) => z.string().min(1).meta({ expected });

export const imageReference = text("an image reference such as registry.example/node:0.16.2@sha256:…");
