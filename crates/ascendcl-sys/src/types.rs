//! C types of the API, as far as the library reads or writes them.
//!
//! Enumerations are plain `i32`: a C caller may pass any value, so a Rust enum would be unsound. A test compares the
//! layouts with `tables/layout.tsv`.
#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_char, c_void};

pub type aclError = i32;
pub type aclrtContext = *mut c_void;
pub type aclrtStream = *mut c_void;
pub type aclrtEvent = *mut c_void;
pub type aclrtNotify = *mut c_void;
pub type aclrtCntNotify = *mut c_void;
pub type aclrtMemPool = *mut c_void;
pub type aclmdlRI = *mut c_void;
pub type aclmdlRICondHandle = *mut c_void;
pub type aclrtTaskGrp = *mut c_void;
pub type aclmdlRITask = *mut c_void;
pub type aclrtLabel = *mut c_void;
pub type aclrtLabelList = *mut c_void;
pub type aclrtDrvMemHandle = *mut c_void;
pub type aclrtBinary = *mut c_void;
pub type aclrtBinHandle = *mut c_void;
pub type aclrtFuncHandle = *mut c_void;
pub type aclrtArgsHandle = *mut c_void;
pub type aclrtParamHandle = *mut c_void;
pub type aclrtCallback = Option<unsafe extern "C" fn(*mut c_void)>;
pub type aclrtHostFunc = Option<unsafe extern "C" fn(*mut c_void)>;
pub type aclrtStreamStateCallback = Option<unsafe extern "C" fn(aclrtStream, i32, *mut c_void)>;
pub type aclrtDeviceStateCallback = Option<unsafe extern "C" fn(i32, i32, *mut c_void)>;
pub type aclrtDeviceTaskAbortCallback = Option<unsafe extern "C" fn(i32, i32, u32, *mut c_void) -> i32>;
pub type aclInitCallbackFunc = Option<unsafe extern "C" fn(*const c_char, usize, *mut c_void) -> aclError>;
pub type aclFinalizeCallbackFunc = Option<unsafe extern "C" fn(*mut c_void) -> aclError>;
pub type aclrtSnapShotCallBack = Option<unsafe extern "C" fn(i32, *mut c_void) -> u32>;
pub type aclrtAllocatorDesc = *mut c_void;
pub type aclrtAllocator = *mut c_void;
pub type aclrtAllocatorAllocFunc = Option<unsafe extern "C" fn(aclrtAllocator, usize) -> *mut c_void>;
pub type aclrtAllocatorFreeFunc = Option<unsafe extern "C" fn(aclrtAllocator, *mut c_void)>;
pub type aclrtAllocatorAllocAdviseFunc =
    Option<unsafe extern "C" fn(aclrtAllocator, usize, *mut c_void) -> *mut c_void>;
pub type aclrtAllocatorGetAddrFromBlockFunc = Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>;

macro_rules! layouts {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $kind:ty),* $(,)? })*) => {
        $($(#[$doc])* #[repr(C)] #[derive(Clone, Copy, Debug)]
        pub struct $name { $(pub $field: $kind),* })*

        #[cfg(test)]
        fn measured() -> Vec<(&'static str, &'static str, usize)> {
            let mut all = Vec::new();
            $(all.push((stringify!($name), "", size_of::<$name>()));
            $(all.push((stringify!($name), stringify!($field), std::mem::offset_of!($name, $field)));)*)*
            all
        }
    };
}

layouts! {
    /// Location of memory. `type` is an `aclrtMemLocationType`.
    struct aclrtMemLocation { id: u32, r#type: i32 }
    struct aclrtMemcpyBatchAttr { dstLoc: aclrtMemLocation, srcLoc: aclrtMemLocation, rsv: [u8; 16] }
    struct aclrtPtrAttributes { location: aclrtMemLocation, pageSize: u32, rsv: [u32; 4] }
    struct aclrtMallocAttribute { attr: i32, value: [u32; 2] }
    struct aclrtMallocConfig { attrs: *mut aclrtMallocAttribute, numAttrs: usize }
    struct aclrtUtilizationInfo {
        cubeUtilization: i32,
        vectorUtilization: i32,
        aicpuUtilization: i32,
        memoryUtilization: i32,
        utilizationExtend: *mut c_void,
    }
    struct aclrtMemUsageInfo { name: [c_char; 32], curMemSize: u64, memPeakSize: u64, reserved: [usize; 8] }
    struct aclrtMemUceInfo { addr: *mut c_void, len: usize, reserved: [usize; 14] }
    struct aclrtErrorInfo {
        tryRepair: u8,
        hasDetail: u8,
        reserved: [u8; 2],
        errorType: i32,
        detail: [u64; 321],
    }
    struct aclmdlRICondTaskParams { handle: aclmdlRICondHandle, r#type: i32, size: u32, modelRIArray: *mut aclmdlRI }
    struct aclrtUuid { bytes: [c_char; 16] }
    struct aclrtMemManagedLocation { r#type: i32, id: i32 }
    struct aclrtRandomParaInfo { isAddr: u8, valueOrAddr: [u8; 8], size: u8, rsv: [u8; 6] }
    /// The union of the parameters of all distributions is an array of at most two.
    struct aclrtRandomNumFuncParaInfo { funcType: i32, paramInfo: [aclrtRandomParaInfo; 2] }
    struct aclrtRandomNumTaskInfo {
        dataType: i32,
        randomNumFuncParaInfo: aclrtRandomNumFuncParaInfo,
        randomParaAddr: *mut c_void,
        randomResultAddr: *mut c_void,
        randomCounterAddr: *mut c_void,
        randomSeed: aclrtRandomParaInfo,
        randomNum: aclrtRandomParaInfo,
        rsv: [u8; 8],
    }
    struct aclrtServerPid { sdid: u32, pid: *mut i32, num: usize }
    struct aclrtBarrierCmoInfo { cmoType: i32, barrierId: u32 }
    struct aclrtBarrierTaskInfo { barrierNum: usize, cmoInfo: [aclrtBarrierCmoInfo; 6] }
    struct aclrtBinaryLoadOptions { options: *mut c_void, numOpt: usize }
    struct aclrtLaunchKernelAttr { id: i32, value: [u32; 4] }
    struct aclrtLaunchKernelCfg { attrs: *mut aclrtLaunchKernelAttr, numAttrs: usize }
    struct aclrtPlaceHolderInfo { addrOffset: u32, dataOffset: u32 }
    struct dim3 { x: u32, y: u32, z: u32 }
    struct aclCANNPackageVersion {
        version: [c_char; 128],
        majorVersion: [c_char; 64],
        minorVersion: [c_char; 64],
        releaseVersion: [c_char; 64],
        patchVersion: [c_char; 64],
        reserved: [c_char; 128],
    }
    struct aclrtMemAccessDesc { flags: i32, location: aclrtMemLocation, rsv: [u8; 12] }
    struct aclrtMemFabricHandle { data: [u8; 128] }
    struct aclrtIpcEventHandle { reserved: [c_char; 64] }
    struct aclrtCntNotifyRecordInfo { mode: i32, value: u32 }
    struct aclrtCntNotifyWaitInfo { mode: i32, value: u32, timeout: u32, isClear: u8, rsv: [u8; 3] }
    struct aclrtMemPoolProps {
        allocType: i32,
        handleType: i32,
        location: aclrtMemLocation,
        maxSize: usize,
        reserved: [u8; 32],
    }
}

/// Declares its padding as a field, so that every byte is written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct aclrtPhysicalMemProp {
    pub handleType: i32,
    pub allocationType: i32,
    pub memAttr: i32,
    pub location: aclrtMemLocation,
    pub gap: u32,
    pub reserve: u64,
}

/// Union of `u64`, `u32` and `u32[4]`. The library reads the member that the attribute selects.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct aclrtStreamAttrValue {
    pub words: [u32; 4],
}

/// Parameters of a task of a graph. `parameters` is a union; the library uses the member that `type` selects.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct aclmdlRITaskParams {
    pub r#type: i32,
    pub rsv0: [u32; 3],
    pub taskGrp: aclrtTaskGrp,
    pub opInfoPtr: *mut c_void,
    pub opInfoSize: usize,
    pub rsv1: [u8; 32],
    pub parameters: [u64; 16],
}

#[cfg(test)]
mod tests {
    #[test]
    fn struct_sizes_and_offsets_match_the_layout_table() {
        let table = include_str!("../tables/layout.tsv");
        for (name, field, found) in super::measured() {
            let field = field.trim_start_matches("r#");
            let row = table
                .lines()
                .map(|line| line.split('\t').collect::<Vec<_>>())
                .find(|row| row[0] == name && row[1] == field)
                .unwrap_or_else(|| panic!("{name}.{field} is not in layout.tsv"));
            let expected = if field.is_empty() { row[4] } else { row[3] };
            assert_eq!(found.to_string(), expected, "{name}.{field}");
        }
        assert_eq!(size_of::<super::aclrtStreamAttrValue>(), 16);
        assert_eq!(size_of::<super::aclmdlRITaskParams>(), 200);
        assert_eq!(std::mem::offset_of!(super::aclmdlRITaskParams, taskGrp), 16);
        assert_eq!(std::mem::offset_of!(super::aclmdlRITaskParams, rsv1), 40);
        assert_eq!(size_of::<super::aclrtPhysicalMemProp>(), 32);
        assert_eq!(std::mem::offset_of!(super::aclrtPhysicalMemProp, location), 12);
        assert_eq!(std::mem::offset_of!(super::aclrtPhysicalMemProp, reserve), 24);
    }
}
