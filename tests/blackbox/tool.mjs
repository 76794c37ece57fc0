// The tollbox command, on the stack's own state.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const program = join(root, process.env.TOLLBOX_TEST_B ?? "build", "tollbox");

/** The lines of `tollbox payments`, without the heading, beside the running service. */
export async function payments(world, state) {
  const { stdout } = await promisify(execFile)(program, ["payments", ...(state ? ["--state", state] : [])], {
    env: { ...process.env, TOLLBOX_STATE_DIR: join(world.folder, "state") },
  });
  return stdout.trim().split("\n").slice(1);
}
