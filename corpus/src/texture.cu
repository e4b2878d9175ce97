/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A bindless texture and a bindless surface, both passed as parameters. */
__global__ void texture(cudaTextureObject_t image, cudaSurfaceObject_t target)
{
    float value = tex2D<float>(image, 0.5f, 0.5f);
    surf2Dwrite(value, target, 0, 0);
}
