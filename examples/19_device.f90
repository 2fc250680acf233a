! SPDX-License-Identifier: BSD-3-Clause
! A Fortran host with its arrays on the GPU: cudaMalloc and cudaMemcpy through ISO_C_BINDING (CUDA Fortran has them as
! modules), device pointers and a stream handed to Graft. A homogeneous ball: accelerations grow with the radius.
module cuda
    use, intrinsic :: iso_c_binding
    implicit none
    integer(c_int), parameter :: to_device = 1, to_host = 2
    interface
        function cudaGetDeviceCount(count) bind(C, name="cudaGetDeviceCount") result(error)
            import :: c_int
            integer(c_int), intent(out) :: count
            integer(c_int) :: error
        end function cudaGetDeviceCount
        function cudaMalloc(address, bytes) bind(C, name="cudaMalloc") result(error)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), intent(out) :: address
            integer(c_size_t), value :: bytes
            integer(c_int) :: error
        end function cudaMalloc
        function cudaFree(address) bind(C, name="cudaFree") result(error)
            import :: c_int, c_ptr
            type(c_ptr), value :: address
            integer(c_int) :: error
        end function cudaFree
        function cudaMemcpyAsync(to, from, bytes, direction, stream) bind(C, name="cudaMemcpyAsync") result(error)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: to, from, stream
            integer(c_size_t), value :: bytes
            integer(c_int), value :: direction
            integer(c_int) :: error
        end function cudaMemcpyAsync
        function cudaStreamCreate(stream) bind(C, name="cudaStreamCreate") result(error)
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: stream
            integer(c_int) :: error
        end function cudaStreamCreate
        function cudaStreamSynchronize(stream) bind(C, name="cudaStreamSynchronize") result(error)
            import :: c_int, c_ptr
            type(c_ptr), value :: stream
            integer(c_int) :: error
        end function cudaStreamSynchronize
        subroutine finish(status) bind(C, name="exit") ! "skipped" is 77 for CTest
            import :: c_int
            integer(c_int), value :: status
        end subroutine finish
    end interface
contains
    subroutine require(error)
        integer(c_int), intent(in) :: error
        if (error /= 0) error stop 'a CUDA call failed'
    end subroutine require
end module cuda

program device
    use cuda
    use graft
    implicit none
    integer, parameter :: n = 20000
    real(c_double), target :: xyz(3, n), a(3, n)
    real(c_double) :: p(3), inward
    type(c_ptr) :: positions, accelerations, stream
    type(graft_t) :: gravity
    integer(c_size_t), parameter :: bytes = 8 * 3 * n
    integer(c_int) :: devices
    integer :: i, found

    devices = 0
    if (cudaGetDeviceCount(devices) /= 0) devices = 0
    if (devices == 0) then
        print '(a)', 'no CUDA device here'
        call finish(77_c_int)
    end if
    found = 0
    do while (found < n)
        call random_number(p)
        p = 2 * p - 1
        if (sum(p**2) > 1) cycle
        found = found + 1
        xyz(:, found) = p
    end do

    call require(cudaStreamCreate(stream))
    call require(cudaMalloc(positions, bytes))
    call require(cudaMalloc(accelerations, bytes))
    call gravity%open()
    call gravity%set('backend', 'gpu')
    call gravity%set_stream(stream)

    call require(cudaMemcpyAsync(positions, c_loc(xyz), bytes, to_device, stream))
    call gravity%compute_begin(position=graft_device_array(positions, n, GRAFT_F64, components=3), &
        mass_all=1d0 / n, acceleration=graft_device_array(accelerations, n, GRAFT_F64, components=3))
    call gravity%compute_end() ! the host is free between the two
    call require(cudaMemcpyAsync(c_loc(a), accelerations, bytes, to_host, stream))
    call require(cudaStreamSynchronize(stream))

    inward = 0
    do i = 1, n
        inward = inward - dot_product(a(:, i), xyz(:, i)) / sum(xyz(:, i)**2) / n
    end do
    print '(a,f8.5,a)', 'acceleration / radius: ', inward, ', 1 in a ball of mass 1 and radius 1'
    call gravity%close()
    call require(cudaFree(positions))
    call require(cudaFree(accelerations))
    if (abs(inward - 1) > 0.02) error stop 'that is wrong'
end program device
