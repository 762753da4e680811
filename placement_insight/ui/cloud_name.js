// SPDX-License-Identifier: Apache-2.0
// The name of the cloud: [ui] cloud_name, otherwise the host of the address.

export const CLOUD = document.querySelector('meta[name=cloud]')?.getAttribute('content') || location.hostname;
